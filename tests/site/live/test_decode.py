"""The model has kernels.serving's pages and shares, kernels.flash.partial's merge, and kernels.reference's rows."""

import inspect
import math
import random
import re
from itertools import pairwise
from types import SimpleNamespace

import pytest
import torch
from bs4 import BeautifulSoup

from kernels.flash.partial import merge
from kernels.reference import attention
from kernels.serving.cache import KVCache
from kernels.serving.decode_kernel import begin_of, owner_of

MODEL = "decode.model.js"
SCALE = 2**-0.5
FORGET = -math.inf  # the lse of a part that found nothing


def played(kernel):
    """A function of the kernel in plain Python, for single numbers."""
    tl = SimpleNamespace(minimum=min, maximum=max, where=lambda which, yes, no: yes if which else no)
    names = {"tl": tl}
    exec(inspect.getsource(kernel.fn).replace("@triton.jit", ""), names)
    return names[kernel.fn.__name__]


def test_the_shares_are_those_of_the_kernel(pieces):
    begin, owner = played(begin_of), played(owner_of)
    drawn = random.Random(0)
    pick = lambda *sizes: drawn.randint(0, drawn.choice(sizes))  # noqa: E731
    settings = [
        ([1 + pick(1, 8, 40), pick(0, 8, 40), pick(0, 3)], drawn.choice([1, 2, 3, 8, 64]), 1 + pick(2, 5, 130))
        for _ in range(10_000)
    ]
    shares = pieces.calls(MODEL, "shares", [list(setting) for setting in settings])
    for (lengths, block, programs), parts in zip(settings, shares, strict=True):
        counts = [math.ceil(length / block) for length in lengths]
        line = [(part["program"], part["sequence"], part["begin"] + i) for part in parts for i in range(part["count"])]
        assert [place[1:] for place in line] == [(s, i) for s, count in enumerate(counts) for i in range(count)]
        assert [program for program, *_ in line] == [owner(at, programs, len(line)) for at in range(len(line))]
        for program in range(programs):
            mine = [at for at, place in enumerate(line) if place[0] == program]
            assert mine == list(range(begin(program, programs, len(line)), begin(program + 1, programs, len(line))))
        for sequence, count in enumerate(counts):  # merge_kernel: nothing is missing where one program had all
            owners = {program for program, of, _ in line if of == sequence}
            assert all(part["whole"] == (len(owners) == 1) for part in parts if part["sequence"] == sequence and count)


def test_a_line_cut_into_shares_of_one_size_is_not_the_kernels():
    """Rounded up, the last programs would have nothing to do."""
    begin = played(begin_of)
    assert [begin(program, 3, 4) for program in range(4)] == [0, 2, 3, 4]
    assert [min(4, program * math.ceil(4 / 3)) for program in range(4)] != [0, 2, 3, 4]


@pytest.mark.parametrize("page_size", [16, 32])
def test_a_token_lies_where_the_cache_finds_it(pieces, page_size):
    pages = torch.randperm(2 * (5100 // page_size)).view(2, -1)
    cache = KVCache(pages, kv_heads=1, head_dim=16, format="fp16", page_size=page_size, device="cpu")
    cache.host_lengths = [4995, 5005]
    for sequence, length in enumerate(cache.host_lengths):
        tokens = (torch.arange(length) + sequence) % 2048  # which FP16 holds
        places = pieces.calls(MODEL, "placeOf", [[token, page_size] for token in range(length)])
        entries, rows = (torch.tensor([place[name] for place in places]) for name in ("entry", "row"))
        cache.keys[pages[sequence][entries], 0, rows] = tokens[:, None].to(cache.keys.dtype)
        keys, _ = cache.gather(sequence)
        assert keys[0, :, 0].tolist() == tokens.tolist()
        wrong, _ = cache.gather(1 - sequence)  # the table of the other sequence
        assert wrong[0, :100, 0].tolist() != tokens[:100].tolist()


def parts_of(pieces, q, k, v, block, cuts, top_left=False):
    """What programs know that have the blocks between those cuts, for each row of a batch."""
    shares = [[begin, stop - begin] for begin, stop in pairwise(cuts)]
    pieces.load(MODEL)
    pieces.engine.eval(
        f"""modules.test = {{ parts(...each) {{
            const part = (share) => modules["{MODEL}"].partOf(...each, {SCALE}, {block}, ...share, {int(top_left)});
            return {shares}.map(part);
        }} }}; 0"""
    )
    pieces.loaded.add("test")
    rows = pieces.calls("test", "parts", [list(each) for each in rows_of(k, v, q)])
    return [*zip(*rows, strict=True)]


def rows_of(*tensors):
    return zip(*(x.tolist() for x in tensors), strict=True)


def merged(pieces, parts):
    rows = pieces.calls(MODEL, "merged", [[list(row)] for row in zip(*parts, strict=True)])
    return [torch.tensor([row[name] for row in rows], dtype=torch.float64) for name in ("output", "lse")]


@pytest.mark.parametrize(
    "length, block, cuts", [(1, 2, (0, 1)), (4, 2, (0, 1, 2)), (7, 3, (0, 1, 3)), (16, 2, (0, 1, 4, 8))]
)
def test_parts_and_their_merge_are_the_reference(pieces, length, block, cuts):
    torch.manual_seed(length)
    scale = 10 ** torch.empty(2500, 1, 1, dtype=torch.float64).uniform_(-2, 2)
    q, k, v = (torch.randn(2500, n, 2, dtype=torch.float64) for n in (1, length, length))
    k = k * scale
    parts = parts_of(pieces, q[:, 0], k, v, block, cuts)
    out, lse = merged(pieces, parts)
    torch.testing.assert_close(out, attention(q, k, v)[:, 0], rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(lse, (q @ k.mT * SCALE).logsumexp(-1)[:, 0], rtol=1e-6, atol=1e-9)
    q, k, v = q[:50], k[:50], v[:50]
    top_left = parts_of(pieces, q[:, 0], k, v, block, cuts, top_left=True)
    torch.testing.assert_close(merged(pieces, top_left)[0], attention(q, k, v, is_causal=True)[:, 0], rtol=1e-6, atol=0)


def test_the_merge_is_the_library_and_an_average_is_not(pieces):
    """Also where a part found nothing, or both did."""
    torch.manual_seed(0)
    out = torch.randn(2, 10_000, 2, dtype=torch.float64)
    lse = torch.randn(2, 10_000, dtype=torch.float64) * 10 ** torch.empty(10_000).uniform_(-2, 3)
    lse[0, :100], lse[1, 50:150] = FORGET, FORGET
    lse[1, 200:300] = lse[0, 200:300]
    parts = [[{"output": o, "lse": x} for o, x in rows_of(out[i], lse[i])] for i in (0, 1)]
    found = merged(pieces, parts)
    expected = merge(out[0], lse[0], out[1], lse[1])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-12)
    assert not torch.allclose(out.mean(0), expected[0])


def test_whose_a_block_is_stands_above_it_and_is_no_matter_of_colour(pieces):
    """However narrow the blocks are: each bracket spans those of its letter."""
    still = BeautifulSoup(pieces.still("decode", {"a": "12", "b": "8", "block": "1", "programs": "6"}), "html.parser")
    drawing = still.find("svg", attrs={"aria-label": re.compile("^The blocks of both")})
    blocks = [(float(text["x"]), text.text) for text in drawing.select("text.ink")]
    assert [number for _, number in blocks] == [str(i) for i in [*range(12), *range(8)]]
    letters = {text.text: float(text["x"]) for text in drawing.select("text") if text.text in "AB"}
    ends = [[float(x) for x in re.findall(r"[MH]([\d.]+)", path["d"])] for path in drawing.select("path:not(.soft)")]
    for letter, (left, right), own in zip("AB", ends, (blocks[:12], blocks[12:]), strict=True):
        assert left < own[0][0] and own[-1][0] < right
        assert letters[letter] == pytest.approx((left + right) / 2, abs=1)
    assert ends[0][1] < ends[1][0]


def test_the_reader_lets_a_token_come_and_opens_a_page(open_piece):
    piece = open_piece("decode")
    text = lambda: piece.locator(".hb-live__told").inner_text()  # noqa: E731
    output = lambda row: piece.locator("tbody tr").nth(row).locator("td").nth(3).inner_text()  # noqa: E731
    assert [output(row) for row in (0, 1, 3)] == ["[3, 6]", "[6, 3]", "[5, 4]"]
    piece.get_by_label("What is done").select_option("average")
    assert [output(row) for row in (3, 4)] == ["[4.5, 4.5]", "[5, 4]"]
    piece.get_by_label("What is done").select_option("causal")
    assert output(3) == "[9, 0]"
    piece.get_by_label("What is done").select_option("none")
    piece.get_by_role("slider", name="Programs").press("Home")  # one program: nothing to merge
    assert "Nothing is left to merge" in text()
    piece.get_by_role("button", name="The next token comes").click()
    piece.get_by_role("button", name="Step", exact=True).press("Enter")
    assert "entry 4 div 2 = 2 of its table, which takes a new one, page 2" in text()
    piece.get_by_label("Query").fill("1")
    assert "1 number; 2 are wanted" in piece.get_by_role("alert").inner_text()
