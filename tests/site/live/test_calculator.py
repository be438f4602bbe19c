"""The calculator is made of ``kernels.bench.cost`` and of what a real cache takes; the reader changes all of it."""

import random
from functools import cache

import pytest
import torch

from kernels.bench import cost
from kernels.bench.hardware import H100, NVLINK
from kernels.bench.parallel.cost import Part, hidden_from, sent_bytes
from kernels.serving.cache import KVCache
from scripts.site.live import PieceError

MODEL = "calculator.model.js"
FORMATS = ("bf16", "fp8", "nvfp4")


@cache
def models() -> list[tuple[dict, int, int, str]]:
    """10,000 models, each with a context, a batch and a format."""
    drawn = random.Random(0)

    def model() -> dict:
        kv_heads, dim = drawn.randint(1, 32), 16 * drawn.randint(1, 16)
        weights = drawn.uniform(1e8, 1e12)
        return {
            "layers": drawn.randint(1, 130),
            "heads": kv_heads * drawn.randint(1, 16),
            "kvHeads": kv_heads,
            "dim": dim,
            "weights": weights,
        }

    return [(model(), drawn.randint(1, 2**20), drawn.randint(1, 1024), drawn.choice(FORMATS)) for _ in range(10_000)]


def test_a_token_takes_what_a_real_cache_gives_it(pieces):
    @cache
    def real(kv_heads: int, dim: int, format: str) -> int:
        table = torch.zeros(1, 1, dtype=int)
        return KVCache(table, kv_heads=kv_heads, head_dim=dim, format=format, device="cpu").bytes_per_token

    found = pieces.calls(MODEL, "tokenBytes", [[model, format] for model, *_, format in models()])
    wanted = [model["layers"] * real(model["kvHeads"], model["dim"], format) for model, *_, format in models()]
    assert found == wanted


def test_prefill_is_the_cost_of_all_layers(pieces):
    rows = [[model, context, batch] for model, context, batch, _ in models()]
    for (model, n, batch), found in zip(rows, pieces.calls(MODEL, "prefill", rows), strict=True):
        flops = cost.attention_flops(n, model["dim"], model["heads"], batch, causal=True)
        of_heads = [
            cost.qkvo_bytes(n, model["dim"], 2, heads, batch) / 2 for heads in (model["heads"], model["kvHeads"])
        ]
        assert found["attention"]["flops"] == pytest.approx(model["layers"] * flops, rel=1e-12)
        assert found["attention"]["bytes"] == pytest.approx(model["layers"] * sum(of_heads), rel=1e-12)
        assert found["weights"] == {
            "flops": pytest.approx(2 * model["weights"] * n * batch),
            "bytes": 2 * model["weights"],
        }


def test_a_decode_step_is_one_query_on_the_cache(pieces):
    drawn = models()
    found = pieces.calls(MODEL, "decode", [list(each) for each in drawn])
    tokens = pieces.calls(MODEL, "tokenBytes", [[model, format] for model, _, _, format in drawn])
    for (model, n, batch, _), token, step in zip(drawn, tokens, found, strict=True):
        one = cost.attention_flops(n, model["dim"], model["heads"], batch) // n
        assert step["attention"]["flops"] == pytest.approx(model["layers"] * one, rel=1e-12)
        assert step["attention"]["bytes"] == pytest.approx(token * n * batch, rel=1e-12)
        assert step["weights"] == {"flops": 2 * model["weights"] * batch, "bytes": 2 * model["weights"]}


def test_the_two_limits_are_the_roof(pieces):
    """The longer of them is what ``attainable`` leaves; a model that swapped peak and bandwidth would not agree."""
    peak, bandwidth = H100["bf16 peak"].value, H100["hbm bandwidth"].value
    drawn = random.Random(0)
    rows = [
        [{"flops": 10 ** drawn.uniform(6, 18), "bytes": 10 ** drawn.uniform(3, 14)}, "H100", drawn.randint(1, 16)]
        for _ in range(10_000)
    ]
    wrong = 0
    for (work, _, chips), found in zip(rows, pieces.calls(MODEL, "limits", rows), strict=True):
        flops, moved = work["flops"], work["bytes"]
        least = flops / cost.attainable(flops / moved, peak, bandwidth) / chips
        assert max(found["arithmetic"], found["memory"]) == pytest.approx(least, rel=1e-12)
        wrong += max(flops / bandwidth, moved / peak) / chips == pytest.approx(least, rel=1e-6)
    assert wrong == 0


def test_what_a_ring_sends_and_hides_is_what_the_library_counts(pieces):
    """A model that forgot that heads share keys, or that a causal text has half the pairs, would not agree."""
    peak, link = H100["bf16 peak"].value, NVLINK["H100"].value
    drawn = random.Random(0)
    rows = []
    for model, _, batch, _ in models():
        tokens, gpus = drawn.randint(1, 2**13), 2 ** drawn.randint(0, 4)  # of one GPU, and how many
        rows.append([model, tokens * gpus, batch, "H100", gpus])
    hidden = 0
    for (model, n, batch, _, gpus), found in zip(rows, pieces.calls(MODEL, "ring", rows), strict=True):
        part = Part(n // gpus, model["heads"], model["kvHeads"], model["dim"])
        assert found["sent"] == pytest.approx(model["layers"] * batch * sent_bytes("ring", gpus, part), rel=1e-12)
        least = hidden_from(part, peak, link, causal=True)
        assert found["hidden"] == (part.tokens >= least) or part.tokens == pytest.approx(least, rel=1e-9)
        assert found["computing"] / found["fetching"] == pytest.approx(part.tokens / least, rel=1e-9)
        hidden += found["hidden"]
    assert 1000 < hidden < 9000


def test_a_step_takes_no_less_than_either_kind_of_work(pieces):
    """One part may compute while another reads; adding up each part's longer time would call too much the least."""
    parts = [{"arithmetic": 3.0, "memory": 1.0}, {"arithmetic": 1.0, "memory": 2.5}]
    assert pieces.calls(MODEL, "leastTime", [[parts]]) == [4.0]
    assert sum(max(part.values()) for part in parts) == 5.5


def test_what_fits_fits_and_one_more_does_not(pieces):
    rows = [[*each, "H100", 8] for each in models()]
    for row, held in zip(rows, pieces.calls(MODEL, "memory", rows), strict=True):
        model, n, batch = row[:3]
        one = held["cache"] / batch
        free = held["all"] - held["weights"]
        if free < 0:
            assert held["sequences"] == held["longest"] == 0
            continue
        slack = 1e-9 * held["all"]
        assert held["sequences"] * one <= free + slack and (held["sequences"] + 1) * one > free - slack
        a_token = one / n * batch
        assert held["longest"] * a_token <= free + slack and (held["longest"] + 1) * a_token > free - slack
        assert held["unfused"] == pytest.approx(cost.eager_peak_bytes(n, model["dim"], 2, model["heads"], batch))
        assert held["fused"] == pytest.approx(cost.fused_peak_bytes(n, model["dim"], 2, model["heads"], batch))


@pytest.mark.parametrize(
    "asked, named",
    [
        ({"context": "1000.5"}, "Context"),
        ({"batch": "3.7"}, "Sequences"),
        ({"gpus": "1e9"}, "GPUs"),
        ({"model": "own", "own": "32.5 32 8 128 8"}, "layers"),
    ],
)
def test_an_address_that_asks_for_too_much_is_told_so(pieces, asked, named):
    with pytest.raises(PieceError, match=named):
        pieces.still("calculator", asked)


@pytest.mark.parametrize("gpus, fits", [("8", True), ("16", False)])
def test_more_gpus_than_one_machine_has_are_said_to_be_taken_for_one(pieces, gpus, fits):
    assert ("as if all were in one machine" in pieces.still("calculator", {"gpus": gpus})) != fits


def test_the_reader_makes_it_fit(open_piece):
    piece = open_piece("calculator", batch=64)
    told = piece.locator(".hb-live__told")
    assert "does not fit" in told.inner_text()
    piece.get_by_role("combobox", name="Cache").select_option("FP8")
    assert "does not fit" not in told.inner_text()
    piece.get_by_role("slider", name="Sequences at once").press("ArrowRight")
    assert "does not fit" in told.inner_text()
    piece.get_by_role("slider", name="GPUs").press("ArrowRight")
    assert "2 H100s: 160 GB" in piece.inner_text() and "does not fit" not in told.inner_text()
    assert "each of 2 GPUs holds" in piece.inner_text() and "the fetching is hidden" in piece.inner_text()
    piece.get_by_role("combobox", name="Model").select_option("your own")
    own = piece.get_by_label("Layers, heads")
    assert own.input_value() == "32 32 8 128 8"
    own.fill("32 32 7 128 8")
    assert "7 heads of keys" in piece.get_by_role("alert").inner_text()
    own.fill("16 32 8 128 8")
    assert "16 layers" in piece.inner_text()
