"""What chapter 12 and its notes claim in words, of runs on several GPUs."""

from tests.claims.rows import rows


def _part_of_alone(how):
    """How much longer the kernel takes beside an exchange, over what that takes alone; each length."""
    return [
        (row["together"] - row["kernel"]) / row["alone"]
        for row in rows("overlap", "overlap")
        if row["how"].startswith(how)
    ]


def messages_hide_little():
    """At each length messages lengthen the kernel by at least 8 tenths of what they take alone.

    In words: tenths, more.
    """
    assert all(part >= 0.8 for part in _part_of_alone("messages"))


def peer_memory_hides_most():
    """At each length copies of peer memory lengthen the kernel by less than 1/4 of what they take alone.

    In words: less, quarter.
    """
    assert all(part < 0.25 for part in _part_of_alone("peer memory"))


def messages_wait_for_attention():
    """The first attention is 7 tenths done or more when the messages begin, and the second begins when they end.

    In words: only, first.
    """
    own = rows("parallel_timeline", "timeline", how="messages")
    first, second = (row for row in own if "attention".startswith(row["what"]))
    (sent,) = (row for row in own if "send and receive".startswith(row["what"]))
    assert first["begin"] + 0.7 * (first["end"] - first["begin"]) <= sent["begin"] and second["begin"] >= sent["end"]


def _forms(table, form):
    """(setting) -> percent of the ideal."""
    return {
        (row["gpus"], row["tokens"], row["heads"], row["kv_heads"]): row["percent"]
        for row in rows("parallel_speed", table, form=form)
    }


def long_parts_reach(percent):
    """From 32,768 tokens a GPU on, forward and with backward, a ring by peer memory reaches at least so much, and not
    5 points more everywhere.

    In words: least.
    """
    found = [each for table in ("forward", "both") for each in _forms(table, "ring, peer memory").items()]
    assert percent <= min(reached for (_, tokens, *_), reached in found if tokens >= 32768) < percent + 5


def the_ring_is_ahead():
    """In every setting all-gather and all-to-all reach less of the ideal than a ring by peer memory.

    In words: behind, every.
    """
    for table in ("forward", "both"):
        ring = _forms(table, "ring, peer memory")
        for form in ("all-gather", "all-to-all"):
            assert all(percent < ring[setting] for setting, percent in _forms(table, form).items())


def as_a_graph_it_reaches():
    """With 8192 tokens a GPU, replayed as a graph, a ring by peer memory reaches 9 tenths of the ideal or more.

    In words: tenths, more.
    """
    for table in ("forward", "both"):
        assert all(percent >= 90 for percent in _forms(table, "ring, peer memory, as a graph").values())
