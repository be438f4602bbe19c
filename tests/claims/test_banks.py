"""What lanes wait for at shared memory is reckoned right for strides that are known."""

import pytest

from tests.claims.banks import clocks

THREAD = "mov.u32 %r1, %tid.x;\nmov.b32 %r9, global_smem;\n"


def address(stride):
    return f"{THREAD}mul.lo.s32 %r2, %r1, {stride};\nadd.s32 %r3, %r9, %r2;\n"


@pytest.mark.parametrize("stride, turns", [(0, 1), (4, 1), (8, 2), (16, 4), (64, 16), (128, 32), (132, 1)])
def test_lanes_that_want_words_of_one_bank_wait_for_one_another(stride, turns):
    assert clocks(f"{address(stride)}st.shared.b32 [ %r3 + 0 ], %r4;", threads=32) == [turns]
    assert clocks(f"{address(stride)}ld.shared.b32 %r4, [%r3+256];", threads=128) == [4 * turns]


def test_a_wide_access_takes_as_many_clocks_as_its_bytes_need():
    assert clocks(f"{address(16)}ld.shared.v4.b32 {{%r4, %r5, %r6, %r7}}, [%r3];", threads=32) == [4]


@pytest.mark.parametrize("mark, turns", [("@%p1", 16), ("@!%p1", 16), ("@%p2", 8), ("", 32)])
def test_lanes_that_a_predicate_leaves_out_wait_for_nobody(mark, turns):
    of_thread = "and.b32 %r5, %r1, 16;\nsetp.eq.b32 %p1, %r5, 0;\nsetp.lt.s32 %p2, %r1, 8;\n"
    assert clocks(f"{address(128)}{of_thread}{mark} st.shared.b32 [ %r3 + 0 ], %r4;", threads=32) == [turns]


def test_an_address_that_is_not_known_is_not_guessed():
    with pytest.raises(KeyError):
        clocks("ld.global.b32 %r3, [%rd1];\nst.shared.b32 [ %r3 + 0 ], %r4;", threads=32)
