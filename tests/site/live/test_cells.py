"""The model is PyTorch: strides, order, slices, and a view that exists just where PyTorch's does not raise."""

import itertools
import random

import pytest
import torch

MODEL = "cells.model.js"


def tensor() -> torch.Tensor:
    """A tensor of its own cells' numbers, its axes in any order, perhaps with a part of one axis left out."""
    shape = [random.choice([1, 2, 2, 3, 4, 6]) for _ in range(random.randint(1, 3))]
    whole = torch.arange(torch.Size(shape).numel()).view(shape)
    turned = whole.permute(random.sample(range(len(shape)), len(shape)))
    return turned[..., : random.randint(1, turned.shape[-1])] if random.random() < 0.3 else turned


def shape_of(size: int) -> list[int]:
    """Any shape of as many numbers, an axis of one among them."""
    shape = []
    while size > 1 and len(shape) < 3:
        shape.append(random.choice([divisor for divisor in range(1, size + 1) if size % divisor == 0]))
        size //= shape[-1]
    return [*shape, size]


def view_of(tensor: torch.Tensor, shape: list[int]) -> torch.Tensor | None:
    try:
        return tensor.view(shape)
    except RuntimeError:
        return None


@pytest.fixture(scope="module")
def tensors() -> list[torch.Tensor]:
    random.seed(0)
    return [tensor() for _ in range(10_000)] + [torch.arange(12).view(2, 3, 2).transpose(0, 1)]


def test_a_view_exists_where_pytorch_makes_one_and_has_its_strides(pieces, tensors):
    shapes = [shape_of(tensor.numel()) for tensor in tensors[:-1]] + [[3, 4]]
    rows = [[tensor.flatten().tolist(), shape] for tensor, shape in zip(tensors, shapes, strict=True)]
    views = [view_of(*pair) for pair in zip(tensors, shapes, strict=True)]
    found = pieces.calls(MODEL, "strides", rows)
    assert [strides is None for strides in found] == [view is None for view in views]
    for view, strides in zip(views, found, strict=True):
        if view is not None:
            assert strides == [own if size > 1 else 0 for own, size in zip(view.stride(), view.shape, strict=True)]
    reasons = pieces.calls(MODEL, "uneven", rows)
    assert [reason is not None for reason in reasons] == [view is None for view in views]
    assert 1000 < views.count(None) < 9000 and views[-1] is None
    even_rows = [(cells.diff().unique().numel() <= 1) for cells in map(torch.tensor, [row[0] for row in rows])]
    assert even_rows != [view is not None for view in views]  # it does not do to look for one stride of all cells


def test_the_reason_is_a_line_of_the_view_that_takes_unequal_steps(pieces, tensors):
    random.seed(1)
    rows = [[tensor.flatten().tolist(), shape_of(tensor.numel())] for tensor in tensors]
    for (cells, shape), reason in zip(rows, pieces.calls(MODEL, "uneven", rows), strict=True):
        if reason is not None:
            axis = reason["axis"]
            assert reason["line"] in torch.tensor(cells).view(shape).movedim(axis, -1).reshape(-1, shape[axis]).tolist()
            assert len({after - before for before, after in itertools.pairwise(reason["line"])}) > 1


def test_the_chapter_s_row_takes_steps_that_no_stride_makes(pieces):
    cells = torch.arange(12).view(2, 3, 2).transpose(0, 1).flatten().tolist()
    assert pieces.calls(MODEL, "uneven", [[cells, [3, 4]]]) == [{"axis": 1, "line": [0, 1, 6, 7]}]
    assert pieces.calls(MODEL, "gaps", [[[0, 1, 6, 7]]]) == [[1, 5, 1]]


def test_strides_order_and_slices_are_pytorch_s(pieces, tensors):
    tensors = [tensor for tensor in tensors if tensor.ndim > 1]
    written = [torch.arange(tensor.numel()).view(tensor.shape) for tensor in tensors]
    assert pieces.calls(MODEL, "contiguous", [[list(each.shape)] for each in written]) == [
        list(each.stride()) for each in written
    ]
    walks = pieces.calls(MODEL, "walk", [[list(each.shape), list(each.stride())] for each in tensors])
    assert walks == [each.flatten().tolist() for each in tensors]
    turned = [each.transpose(0, -1) for each in written]
    strides = pieces.calls(MODEL, "exchanged", [[list(each.stride()), 0, each.ndim - 1] for each in written])
    assert strides == [list(each.stride()) for each in turned]
    ordered = pieces.calls(MODEL, "inOrder", [[each.flatten().tolist()] for each in turned])
    assert ordered == [each.is_contiguous() for each in turned]
    chosen = [(each, axis, random.randrange(each.shape[axis])) for each in written for axis in range(each.ndim)]
    slices = pieces.calls(MODEL, "slice", [[list(each.shape), axis, index] for each, axis, index in chosen])
    assert slices == [each.select(axis, index).flatten().tolist() for each, axis, index in chosen]


def test_the_reader_asks_why_and_copies(open_piece):
    piece = open_piece("cells")
    told = piece.locator(".hb-live__told")
    lit = lambda label: piece.get_by_role("group", name=label).locator(".hb-live__lit").all_inner_texts()  # noqa: E731
    assert "steps of 1, 5 and 1" in told.inner_text()
    assert lit("Memory") == ["0", "1", "6", "7"]
    piece.get_by_label("copy with").click()
    assert "cells 0, 1, 2 and 3" in told.inner_text()
    piece.get_by_label("Then exchange").select_option("")
    assert "in row 1 and row 2" in told.inner_text()  # the wrong rows of the chapter's trap
    piece.get_by_role("slider", name="word").press("ArrowRight")
    assert lit("Memory") == ["2", "3", "8", "9"]
    piece.get_by_label("View as").fill("3 5")
    assert "3 · 5 is 15 numbers, and there are 12" in piece.get_by_role("alert").inner_text()
    piece.get_by_label("View as").fill("12")
    piece.get_by_label("Written as").fill("2 3 2")  # as in the field beside it
    axes = [f"{which} axis" for which in ("first", "second", "third")]  # an axis is one already
    assert piece.get_by_label("Light up one").locator("option").all_inner_texts() == axes
    assert "first axis 1, second axis 1" in piece.get_by_role("group", name="Memory").inner_text()
    piece.get_by_label("copy with").click()
    piece.get_by_label("Then exchange").select_option("first axis and second axis")
    assert "1, 5, 1, \N{MINUS SIGN}5" in told.inner_text()
