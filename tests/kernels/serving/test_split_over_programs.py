"""However decode's work is split over programs, the answer is attention, and the same again bit for bit."""

import pytest

from tests.kernels.serving.harness import FP16, GPU, all_formats, decode_budget_used, new_cache, queries

# Rows that are masked may hold anything; what becomes of them may overflow, and is stored nowhere.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


# How the work is split.


@all_formats(interpreted=["nvfp4"])
@pytest.mark.parametrize("programs", [1, 2, 5, 17, 100])
def test_any_number_of_programs(programs, format, dtype, decoder, monkeypatch, device):
    """One program does everything; several share a sequence, or end one and start the next; some get no work."""
    monkeypatch.setattr(decoder.patch_target, lambda *_: programs)
    cache = new_cache(device, format, [300, 0, 1, 190, 130], head_dim=decoder.head_dim)
    q = queries(cache, dtype, new_tokens=3)
    assert decode_budget_used(decoder.attention, q, cache) <= 1


def test_many_sequences(decoder, monkeypatch, device):
    """So many that the merge reads fewer parts at a time."""
    monkeypatch.setattr(decoder.patch_target, lambda *_: 7)
    cache = new_cache(device, "fp16", [64, 320] + 126 * [0], head_dim=decoder.head_dim)
    assert decode_budget_used(decoder.attention, queries(cache, FP16, group=1), cache) <= 1


def test_one_tile_of_queries_is_split_and_its_neighbour_is_not(decoder, monkeypatch, device):
    monkeypatch.setattr(decoder.patch_target, lambda *_: 2)
    cache = new_cache(device, "fp16", [64, 192], head_dim=decoder.head_dim)
    assert decode_budget_used(decoder.attention, queries(cache, FP16, group=20), cache) <= 1


@pytest.mark.parametrize("length", [4096, pytest.param(60000, marks=GPU)])
def test_one_program_sums_up_many_keys(length, decoder, monkeypatch, device):
    """In FP32: an accumulator that is rounded to 16 bits after each block is off by too much."""
    monkeypatch.setattr(decoder.patch_target, lambda *_: 1)
    cache = new_cache(device, "fp16", [length], head_dim=decoder.head_dim, page_size=256)
    assert decode_budget_used(decoder.attention, queries(cache, FP16), cache) <= 1


def test_parts_of_rows_that_see_nothing(decoder, monkeypatch, device):
    """More queries than keys, and the keys split: what is merged is nothing, twice."""
    monkeypatch.setattr(decoder.patch_target, lambda *_: 10)
    cache = new_cache(device, "fp16", [66], head_dim=decoder.head_dim)
    assert decode_budget_used(decoder.attention, queries(cache, FP16, group=1, new_tokens=70), cache) <= 1


def test_many_parts_of_one_sequence(decoder, monkeypatch, device):
    """More than the merge reads at a time."""
    monkeypatch.setattr(decoder.patch_target, lambda *_: 40)
    cache = new_cache(device, "fp16", [40 * 64 - 3], head_dim=decoder.head_dim, page_size=256)
    assert decode_budget_used(decoder.attention, queries(cache, FP16, group=3, new_tokens=2), cache) <= 1


@all_formats(interpreted=["fp8"])
def test_the_same_again_bit_for_bit(format, dtype, decoder, device):
    cache = new_cache(device, format, [130, 7], head_dim=decoder.head_dim)
    q = queries(cache, dtype)
    first, second = (decoder.attention(q, cache, return_lse=True) for _ in range(2))
    assert first[0].equal(second[0]) and first[1].equal(second[1])
    assert decoder.attention(q, cache).equal(first[0])
