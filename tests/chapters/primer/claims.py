"""What the primer claims in words."""

from kernels.bench import repeated_read
from scripts.records import ROOT
from tests.claims.rows import chip, chip_of, close, rounded, row

EDGE_FROM_HBM = 96 / 2 * chip("hbm bandwidth")  # FLOP/s, of a matmul whose tiles have an edge of 96 and come from HBM


def _a_clock(speed):
    """Bytes a clock for each SM, of bytes a second."""
    return speed / chip("sms") / chip("tensor core clock")


def _l2(size):
    """The speed of reading a table of this many MiB again and again, in bytes a second."""
    return 1e12 * row("l2_speed", "sizes", size=size)["speed"]


def l2_gives(speed):
    """The speed of reading a table of 16 MiB again and again, in TB/s, to the digits that are typed."""
    assert rounded(_l2(16) / 1e12, speed) == speed


def lanes_want_more_than_a_store_gives():
    """Shared memory gives a twelfth of what all lanes ask of their registers, to the nearest whole; HBM no hundredth.

    In words: hbm, less.
    """
    asked = chip("fp32 lanes") / 2 * 3 * 4
    assert round(asked / chip("shared memory per clock")) == 12 and 100 * _a_clock(chip("hbm bandwidth")) < asked


def l2_stands_between():
    """L2 gives a quarter of what shared memory gives, to the nearest whole, and two thirds more than HBM, to 0.05.

    HBM is that of the same GPU, on which L2 was measured.

    In words: quarter, thirds, more, hbm, same.
    """
    assert round(chip("shared memory per clock") / _a_clock(_l2(16))) == 4
    assert abs(_l2(16) / chip_of("l2_speed", "hbm bandwidth") - 5 / 3) < 0.05


def reads_pass_l1_by():
    """The kernel that reads a table again has one load, and its cache modifier is .cg: past L1. In words: reads."""
    source = ROOT.joinpath(*repeated_read.__name__.split(".")).with_suffix(".py").read_text(encoding="utf-8")
    assert source.count("tl.load(") == source.count('cache_modifier=".cg"') == 1


def small_tables_are_faster(size):
    """Of 2, 4, 8 and 16 MiB each table is read faster than the next; that of this size 8/7 as fast as 16, to 1 %.

    In words: smaller, faster.
    """
    assert _l2(16) < _l2(8) < _l2(4) < _l2(2) and close(_l2(int(size)), 8 / 7 * _l2(16), 0.01)


def l2_gained(percent):
    """16 MiB are read so many per cent faster than on the H100, at 7.54 TB/s. In words: more."""
    assert rounded(100 * (_l2(16) / 7.54e12 - 1), percent) == percent


def a_quarter_lies_in_l2():
    """256 MiB are read up to a tenth faster than HBM's bandwidth, and are 4 to 4.5 times what the H200's L2 holds.

    In words: faster, hbm, l2, quarter.
    """
    maker = chip_of("l2_speed", "hbm bandwidth")
    assert maker < _l2(256) < 1.1 * maker
    assert 4 < 256 * 2**20 / chip_of("l2_speed", "l2") < 4.5


def hbm_gives_a_ninth():
    """HBM gives a ninth of the bytes that shared memory gives, to the nearest whole. In words: only, ninth."""
    assert round(chip("shared memory per clock") / _a_clock(chip("hbm bandwidth"))) == 9


def a_sixth_of_the_peak():
    """Tiles with an edge of 96 that come from HBM allow a sixth of the peak, to the nearest whole. In words: sixth."""
    assert round(chip("bf16 peak") / EDGE_FROM_HBM) == 6
