"""What chapter 12 and its notes claim in words, of runs on several GPUs."""

from kernels.bench.cost import attention_flops
from tests.claims.rows import rows


def _part_of_alone(how):
    """How much longer both together take than the kernel, over what the exchange takes alone; each length."""
    return [
        (row["together"] - row["kernel"]) / row["alone"]
        for row in rows("overlap", "overlap")
        if row["how"].startswith(how)
    ]


def messages_hide_little():
    """At each length kernel and messages take longer than the kernel, by at least 7 tenths of the messages alone.

    In words: tenths, more.
    """
    assert all(part >= 0.7 for part in _part_of_alone("messages"))


def peer_memory_costs_less():
    """With 8192 tokens copies of peer memory add less than half as much as messages, by any ends of the intervals.

    In words: less, half.
    """
    (sent,), (copied,) = (rows("overlap", "overlap", how=how, tokens=8192) for how in ("messages", "peer memory"))
    assert copied["high"] < 0.5 * sent["low"]


def copies_may_cost_nothing():
    """With 65,536 tokens the interval of what copies of peer memory add has 0 in it.

    In words: nothing, all.
    """
    (copied,) = rows("overlap", "overlap", how="peer memory", tokens=65536)
    assert copied["low"] < 0 < copied["high"]


def _overlap(one, other):
    """Whether the intervals of two rows have a number in common."""
    return one["low"] <= other["high"] and other["low"] <= one["high"]


def _timeline(how, *whats):
    """Of each of these the bars of a ring's call, in the order in which they begin."""
    own = rows("parallel_timeline", "timeline", how=how)
    return [[row for row in own if row["what"] == what] for what in whats]


def the_fetch_lies_under_attention():
    """By peer memory the fetch begins and ends while the first attention runs.

    In words: first.
    """
    attention, (fetch,) = _timeline("peer memory", "attention", "fetch")
    assert attention[0]["begin"] <= fetch["begin"] and fetch["end"] <= attention[0]["end"]


def messages_lengthen_the_ring():
    """By messages the ring of the timeline took longer than by peer memory, and so did its first attention.

    In words: longer.
    """
    taken = {
        how: max(row["end"] for row in rows("parallel_timeline", "timeline", how=how))
        for how in ("messages", "peer memory")
    }
    assert taken["messages"] > taken["peer memory"]
    first = {how: _timeline(how, "attention")[0][0] for how in taken}
    lasted = {how: each["end"] - each["begin"] for how, each in first.items()}
    assert lasted["messages"] > lasted["peer memory"]


TABLES = ("forward", "both", "longest", "longest_both")


def _forms(table, form):
    """(setting) -> percent of the ideal."""
    return {
        (row["gpus"], row["tokens"], row["heads"], row["kv_heads"]): row["percent"]
        for row in rows("parallel_speed", table, form=form)
    }


def long_parts_reach(tokens, percent):
    """From so many tokens a GPU on, on 2 GPUs and on 4, forward and with backward, a ring by peer memory reaches at
    least so much, and not 10 points more everywhere.

    In words: least.
    """
    ring = "ring, peer memory"
    two = [row for name in TABLES for row in rows("parallel_speed", name, form=ring) if row["tokens"] >= tokens]
    four = [row for row in rows("more_gpus", "measured", form=ring) if row["percent"] is not None]
    assert {row["gpus"] for row in two} == {2} and {row["gpus"] for row in four} == {4}
    assert min(row["tokens"] for row in two) == tokens
    assert percent <= min(row["percent"] for row in two + four) < percent + 10


def the_ring_is_ahead():
    """On 2 GPUs, from 16,384 tokens on, all-gather and all-to-all end below where a ring by peer memory begins.

    By the intervals of each setting, so that no two overlap.  In words: behind, no.
    """
    assert all(other["high"] < ring["low"] for ring, other in _beside_the_ring())


def _beside_the_ring():
    """(ring by peer memory, all-gather or all-to-all) of each setting of 2 GPUs from 16,384 tokens on."""
    for table in ("forward", "both"):
        for ring in rows("parallel_speed", table, form="ring, peer memory"):
            setting = {name: ring[name] for name in ("gpus", "tokens", "heads", "kv_heads")}
            for form in ("all-gather", "all-to-all") if ring["tokens"] >= 16384 else ():
                (other,) = rows("parallel_speed", table, form=form, **setting)
                yield ring, other


def level_on_four():
    """On 4 GPUs with backward the intervals of an all-to-all and of a ring by peer memory overlap.

    In words: level.
    """
    ring, other = (
        rows("more_gpus", "measured", form=form, backward="yes", tokens=65536)[0]
        for form in ("ring, peer memory", "all-to-all")
    )
    assert _overlap(ring, other)


def as_a_graph_it_reaches(least):
    """With 8192 tokens a GPU, replayed as a graph, a ring by peer memory reaches 87 % of the ideal or more in every
    setting.

    In words: more, every.
    """
    graphs = [_forms(table, "ring, peer memory, as a graph") for table in ("forward", "both")]
    assert round(min(reached for each in graphs for reached in each.values())) == least


def it_waits_for_launches():
    """With 8192 tokens and 16 heads, forward, a ring as a graph takes 0.23 to 0.25 less time than one by one.

    In words: quarter.
    """
    launched, replayed = (
        row["median"]
        for form in ("ring, peer memory", "ring, peer memory, as a graph")
        for row in rows("parallel_speed", "forward", form=form, tokens=8192, heads=16)
    )
    assert 0.23 < 1 - replayed / launched < 0.25


def rings_exceed_the_ideal():
    """Forward a ring by peer memory reaches more than 100 % on 4 GPUs, always, by the whole interval.

    On 2 GPUs with the longest text the interval has 100 % in it.

    In words: more.
    """
    four = rows("more_gpus", "measured", form="ring, peer memory", backward="no")
    two = rows("parallel_speed", "longest", form="ring, peer memory")
    assert {row["gpus"] for row in four} == {4} and {row["gpus"] for row in two} == {2}
    assert all(row["low"] > 100 for row in four) and all(row["low"] < 100 < row["high"] for row in two)


def pytorch_is_behind_the_ring():
    """From 32,768 tokens a GPU on PyTorch reaches less of the ideal than a ring by peer memory, in both passes.

    In words: less.
    """
    for table in ("forward", "both"):
        ring = _forms(table, "ring, peer memory")
        found = {setting: percent for setting, percent in _forms(table, "pytorch").items() if setting[1] >= 32768}
        assert len(found) > 1 and all(percent < ring[setting] for setting, percent in found.items())


def a_ring_holds_less():
    """With backward a ring by peer memory takes less than half as much memory as an all-gather, at its highest.

    In words: less, half.
    """
    (ring,), (gathered,) = (rows("parallel_error", "memory", form=form) for form in ("ring, peer memory", "all-gather"))
    assert ring["peak"] < 0.5 * gathered["peak"]


def _of_one(row):
    """The FLOP/s of one GPU with the whole text, forward, causal, by which the ideal of a row is measured."""
    tokens = row["gpus"] * row["tokens"]
    return attention_flops(tokens, 128, 16) / 2 / (row["gpus"] * row["ideal"] / 1e3)


def one_gpu_gets_slower(tokens):
    """On so many tokens one GPU computes at least a twentieth fewer FLOP/s than on half of them.

    In words: least, twentieth, fewer, half.
    """
    ring = {"heads": 16, "form": "ring, peer memory"}
    (half,) = (row for row in rows("parallel_speed", "forward", **ring) if 2 * row["tokens"] == tokens / 2)
    (whole,) = rows("more_gpus", "measured", form="ring, peer memory", backward="no", tokens=int(tokens) // 4)
    assert whole["gpus"] == 4 and _of_one(whole) <= 0.95 * _of_one(half)


def a_million_take_two_minutes():
    """In 2 minutes, to the minute, 4 GPUs do 32 layers of 32 heads, forward, of 1,048,576 tokens.

    In words: -.
    """
    (row,) = rows("more_gpus", "measured", form="ring, peer memory", backward="no", tokens=262144)
    assert row["gpus"] * row["tokens"] == 2**20 and round(32 * 32 / 16 * row["median"] / 1e3 / 60) == 2


def _loses(table, snippet, few, many):
    """How much longer one GPU takes for each pair of the longer text, in percent, by two ideals of one run."""

    def ideal(where, tokens):
        ring = (
            {"form": "ring, peer memory", "heads": 16} if snippet == "parallel_speed" else {"form": "ring, peer memory"}
        )
        (row,) = (row for row in rows(snippet, where, **ring, tokens=tokens) if row.get("backward", "no") == "no")
        return row["ideal"]

    return 100 * (ideal(table[1], many) / ideal(table[0], few) / (many / few) ** 2 - 1)


def one_gpu_loses_within_two(percent):
    """One GPU of the run on 2 needs so much more a pair with 4 times 131,072 tokens.

    In words: -.
    """
    spent = _loses(("forward", "longest"), "parallel_speed", 65536, 262144)
    assert round(100 - 100 / (1 + spent / 100)) == percent


def one_gpu_loses_within_four(percent):
    """One GPU of the run on 4 needs so much more a pair with 4 times 262,144 tokens.

    In words: -.
    """
    spent = _loses(("measured", "measured"), "more_gpus", 65536, 262144)
    assert round(100 - 100 / (1 + spent / 100), 1) == float(percent)


def one_gpu_takes(minutes):
    """In so many minutes one GPU does 32 layers of 32 heads, forward, of 1,048,576 tokens, by one layer of 16 heads.

    In words: -.
    """
    (row,) = rows("more_gpus", "measured", form="ring, peer memory", backward="no", tokens=262144)
    assert round(32 * 32 / 16 * row["gpus"] * row["ideal"] / 1e3 / 60, 1) == float(minutes)


def copies_came_at(low, high):
    """Copies of peer memory alone come at between 300 and 350 GB/s, at each length."""
    speeds = [row["data"] / row["alone"] for row in rows("overlap", "overlap", how="peer memory")]
    assert speeds and all(float(low) <= speed <= float(high) for speed in speeds), speeds
