"""The setting that figures and boards share is the one that prefill_speed has."""

from scripts import records
from scripts.chapters.prefill_speed import HEAD_DIMS, TOKENS, WIDTH, N


def test_the_snippet_and_its_record_have_these_numbers():
    (path,) = records.ROOT.glob("snippets/[!e]*/prefill_speed.py")
    assert f"tokens, width, lengths = {TOKENS}, {WIDTH}, [{N}," in path.read_text(encoding="utf-8")
    for head_dim in HEAD_DIMS:
        assert N in {row["n"] for row in records.table("prefill_speed", f"forward_{head_dim}")}
