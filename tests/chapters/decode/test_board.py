"""Sheet 11: the board says what the library finds for the four tokens, counts of a cache, and what was measured."""

import math

import torch

from kernels.bench.cost import attention_flops
from kernels.bench.hardware import H100, H200
from kernels.reference import attention
from kernels.serving.cache import KVCache
from kernels.softmax import OnlineSoftmax
from scripts import records
from scripts.chapters.decode import board as drawn

QUERY, KEYS, VALUES = (torch.tensor(each, dtype=torch.float64) for each in ([drawn.QUERY], drawn.KEYS, drawn.VALUES))
SCALE = math.log(2)  # powers of 2
BOARD = drawn.board()


def said(step: int) -> str:
    return " ".join(BOARD.read(step))


def output(begin: int, end: int, **options) -> str:
    found = attention(QUERY, KEYS[begin:end], VALUES[begin:end], scale=SCALE, **options)
    return drawn.pair([round(number, 9) for number in found[0].tolist()])


def test_the_four_tokens_give_the_library_s_output():
    scores = (KEYS @ QUERY[0]).tolist()
    written = BOARD.read(2)
    assert [int(cell) for cell in written[written.index("score") + 1 :][:4]] == scores
    assert [float(cell) for cell in written[written.index("2^{s}") + 1 :][:4]] == [2**score for score in scores]
    assert f"= {output(0, 4)}" in written and "Σ 9" in written


def test_the_two_programs_and_their_merge():
    states = [OnlineSoftmax.empty().update((KEYS[rows] @ QUERY[0]) * SCALE) for rows in (slice(0, 2), slice(2, 4))]
    written = BOARD.read(6)
    for state, rows in zip(states, ((0, 2), (2, 4)), strict=True):
        assert f"max {state.running_max.item() / SCALE:g}" in written
        assert any(text.startswith("sum ") and text.endswith(f"= {state.running_sum.item():g}") for text in written)
        assert f"= {output(*rows)}" in written
    whole = states[0].merge(states[1])
    worth = [(s.running_sum * (s.running_max - whole.running_max).exp() / whole.running_sum).item() for s in states]
    assert [round(3 * share, 6) for share in worth] == [1, 2]
    assert f"1/3 · {output(0, 2)} + 2/3 · {output(2, 4)} = {output(0, 4)}" in written
    assert BOARD.read(9).count("✓") == 4 and output(0, 4, is_causal=True) in BOARD.read(9)


def test_a_layer_s_weights_and_pasts():
    cache = attention_flops(1, drawn.WIDTH) * drawn.WIDTH
    assert f"24w² = {24 * drawn.WIDTH**2 / 1e6:.0f} MB" in said(3)
    assert f"4Nw = {cache / 1e6:.1f} MB, a sixth" in said(3) and 6 * cache == 24 * drawn.WIDTH**2
    assert f"{drawn.CACHES * cache / 1e9:.2f} GB" in said(3)


def test_a_cache_is_as_large_as_the_library_s():
    cache = KVCache(torch.arange(1)[None], kv_heads=drawn.KV_HEADS, head_dim=drawn.HEAD_DIM, format="bf16")
    token = drawn.LAYERS * cache.bytes_per_token
    seconds = drawn.LONG * token / H100["hbm bandwidth"].value
    assert f"= {token / 2**10:.0f} KiB" in said(4) and f"{8192 * token / 2**30:.0f} GiB" in BOARD.read(4)
    assert f"{drawn.LONG * token / 2**30:.0f} GiB = {drawn.LONG * token / 1e9:.1f} GB" in said(4)
    assert f"{1e3 * seconds:.2f} ms" in said(4)


def test_the_pages_hold_the_tokens_and_most_of_the_chip_is_idle():
    assert len(drawn.TABLE) == -(-drawn.TOKENS // drawn.PAGE) and "page 6, row 5" in said(5)
    assert f"8 heads of keys, {H100['sms'].value} SMs: {8 / H100['sms'].value:.0%}".replace("%", " %") in said(6)


def test_the_bills_and_the_ladder_are_the_record_s():
    assert records.read("decode_speed").provenance["gpu"] == "NVIDIA H200"
    assert f"H200: bytes ÷ {H200['hbm bandwidth'].value / 1e12:.1f} TB/s" in said(8)
    for cache, (name, bits) in drawn.FORMATS.items():
        (row,) = [
            each
            for each in records.table("decode_speed", "decode")
            if (each["form"], each["cache"], each["batch"], each["heads"]) == ("ours", cache, 16, "32/8")
        ]
        assert f"{row['median']:.3f}" in BOARD.read(7) and name in BOARD.read(7)
        assert row["n"] == 8192 and (bits == 16 or f"÷ {16 / bits:.3g}" in BOARD.read(7))
        assert f"{1e3 * row['read'] * row['median']:.0f}" in BOARD.read(8)
        assert f"{100 * row['read'] * 1e12 / H200['hbm bandwidth'].value:.0f} %" in BOARD.read(8)
    assert f"{16 * 8192 * 8 * 128 * 2 * 2 / H200['hbm bandwidth'].value * 1e3:.3f}" in BOARD.read(8)
    starts = [text.split("+")[1] for text in BOARD.read(8) if "+" in text]
    assert starts == [f"{drawn.fixed_part(cache):.0f} µs" for cache in drawn.FORMATS]
