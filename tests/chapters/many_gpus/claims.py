"""What chapter 12 and its notes claim in words, of runs on several GPUs."""

import ast

from kernels.bench.cost import attention_flops, backward_flops
from kernels.bench.parallel.cost import Link, Part, ideal, predicted
from scripts import records
from scripts.chapters.many_gpus.figures.percent_of_ideal import PASSES, model
from tests.claims.rows import rows


def _part_of_alone(how, tokens, cost="cost"):
    """How much longer both together take than the kernel, over what the exchange takes alone; of each of its kinds."""
    return [
        row[cost] / 100 * row["kernel"] / row["alone"]
        for row in rows("overlap", "overlap", tokens=tokens)
        if row["how"].startswith(how)
    ]


def messages_hide_little():
    """With 8192 tokens kernel and messages take longer than the kernel, by 3/4 of the messages alone or more.

    In words: least, quarters.
    """
    assert min(_part_of_alone("messages", 8192)) >= 3 / 4


def long_messages_hide_little():
    """With 65,536 tokens they take longer by more than messages of either kind take alone.

    In words: more, all.
    """
    assert min(_part_of_alone("messages", 65536)) > 1


def copies_add_less_than_a_quarter():
    """With 8192 tokens copies of peer memory add something, and less than 1/4 of what they take alone, by the interval.

    In words: less, quarter.
    """
    (low,), (high,) = (_part_of_alone("peer memory", 8192, end) for end in ("low", "high"))
    assert 0 < low < high < 1 / 4


def copies_add_nothing():
    """With 65,536 tokens the interval of what copies of peer memory add has 0 in it.

    In words: nothing.
    """
    (low,), (high,) = (_part_of_alone("peer memory", 65536, end) for end in ("low", "high"))
    assert low < 0 < high


def _beside_copies(tokens):
    """The rows of peer memory, of messages, and of messages held to 4 thread blocks."""
    (copied,) = rows("overlap", "overlap", how="peer memory", tokens=tokens)
    (free,), (held,) = (
        rows("overlap", "overlap", how=how, tokens=tokens) for how in ("messages", "messages, 4 thread blocks")
    )
    return copied, free, held


def long_intervals_overlap():
    """With 65,536 tokens the intervals of messages and of peer memory overlap, and that of messages held to 4 thread
    blocks begins behind that of peer memory.

    In words: -.
    """
    copied, free, held = _beside_copies(65536)
    assert _overlap(copied, free) and copied["high"] < held["low"]


def some_rounds_are_long(free, blocks, held):
    """With 65,536 tokens the intervals of messages, free and held to 4 thread blocks, end at so many percent.

    In words: -.
    """
    assert blocks == 4 and [row["high"] for row in _beside_copies(65536)[1:]] == [float(free), float(held)]


def short_copies_lie_below():
    """With 8192 tokens the interval of peer memory ends before those of messages, free and held, begin.

    In words: below, both.
    """
    copied, free, held = _beside_copies(8192)
    assert copied["high"] < min(free["low"], held["low"])


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
    """By messages the ring of the timeline took longer than by peer memory.

    In words: longer.
    """
    sent, copied = (rows("parallel_timeline", "timeline", how=how) for how in ("messages", "peer memory"))
    assert max(row["end"] for row in sent) > max(row["end"] for row in copied)


def _lasts(row):
    return row["end"] - row["begin"]


def messages_come_between():
    """In the timeline messages begin in the last 1/20 of the first attention; the second begins when they have ended.

    In words: only, first.
    """
    (first, second), (sent,) = _timeline("messages", "attention", "send and receive")
    assert first["end"] - _lasts(first) / 20 < sent["begin"] < first["end"] < sent["end"] < second["begin"]


def attention_begins_earlier(earlier):
    """By messages the first attention began so many µs sooner after the ring's first kernel, and no barrier was before.

    In words: no, before.
    """
    sent, copied = (_timeline(how, "attention")[0][0]["begin"] for how in ("messages", "peer memory"))
    assert round(copied - sent, 1) == float(earlier)
    assert _timeline("messages", "barrier") == [[]] and len(_timeline("peer memory", "barrier")[0]) == 2


def messages_and_a_fetch_run(messages, fetch):
    """In the timeline the messages last so many µs, and the fetch by a copy engine so many.

    In words: -.
    """
    ((sent,),), ((copied,),) = _timeline("messages", "send and receive"), _timeline("peer memory", "fetch")
    assert (round(_lasts(sent)), round(_lasts(copied))) == (messages, fetch)


def messages_begin_as_attention_ends(before):
    """In the timeline messages begin so many µs before the first attention ends.

    In words: only, before.
    """
    (attention, _), (sent,) = _timeline("messages", "attention", "send and receive")
    assert attention["begin"] < sent["begin"] and round(attention["end"] - sent["begin"], 1) == float(before)


def attention_waits_for_messages(behind):
    """In the timeline the second attention begins so many µs after the messages have ended.

    In words: behind.
    """
    (_, attention), (sent,) = _timeline("messages", "attention", "send and receive")
    assert round(attention["begin"] - sent["end"]) == behind


def around_attention(share, before, barriers, behind):
    """By peer memory so many barriers and an offer take so many µs before the first attention begins, and one merge so
    many behind the end of the last; together so many tenths of what a graph is above its ideal.

    In words: tenths, few, before, first, behind, last.
    """
    attention, met, offers, (merge,) = _timeline("peer memory", "attention", "barrier", "offer", "merge")
    assert len(met) == barriers and len(offers) == 1
    found = attention[0]["begin"], merge["end"] - max(row["end"] for row in attention)
    assert tuple(map(round, found)) == (before, behind)
    assert round(sum(found) / (1e3 * _above_ideal("forward")), 1) == float(share)


def _above_ideal(table):
    """How many ms a ring of 2 GPUs with 8192 tokens and 16 heads takes longer as a graph than its ideal."""
    (row,) = rows("parallel_speed", table, form="ring, peer memory, as a graph", tokens=8192, heads=16)
    return row["median"] - row["ideal"]


def above_the_ideal_with_backward(ms):
    """With 8192 tokens and 16 heads a ring of 2 GPUs, as a graph with backward, takes so much longer than its ideal.

    In words: above.
    """
    assert round(_above_ideal("both"), 2) == float(ms)


def above_the_ideal_forward(ms):
    """With 8192 tokens and 16 heads a ring of 2 GPUs, as a graph, forward, takes so much longer than its ideal.

    In words: -.
    """
    assert round(_above_ideal("forward"), 2) == float(ms)


def _modelled(tokens, form):
    """Percent of the ideal that the model of a ring of 2 GPUs with 16 heads expects with backward."""
    (row,) = rows("parallel_speed", "both", form=form, tokens=tokens, heads=16)
    return model(row, PASSES["with backward"])


def backward_stays_below_nine_tenths():
    """With 8192 tokens and 16 heads the interval of a ring of 2 GPUs, as a graph with backward, ends below 9 tenths.

    In words: below, tenths.
    """
    (row,) = rows("parallel_speed", "both", form="ring, peer memory, as a graph", tokens=8192, heads=16)
    assert row["high"] < 90


def model_of_short_parts(percent):
    """With 8192 tokens a GPU the model expects so much of the ideal with backward.

    In words: -.
    """
    assert round(_modelled(8192, "ring, peer memory, as a graph")) == percent


def model_of_long_parts(percent):
    """With 65,536 tokens a GPU the model expects so much of the ideal with backward.

    In words: -.
    """
    assert round(_modelled(65536, "ring, peer memory"), 1) == float(percent)


def launches_show_with_many_heads():
    """With 8192 tokens, 64 heads, forward, on 2 GPUs the interval of the ring ends before that of its graph begins.

    In words: -.
    """
    called, graph = (
        rows("parallel_speed", "forward", gpus=2, tokens=8192, heads=64, form=f"ring, peer memory{how}")[0]
        for how in ("", ", as a graph")
    )
    assert called["high"] < graph["low"]


TABLES = ("forward", "both", "longest", "longest_both")


def _forms(table, form):
    """(setting) -> percent of the ideal."""
    return {
        (row["gpus"], row["tokens"], row["heads"], row["kv_heads"]): row["percent"]
        for row in rows("parallel_speed", table, form=form)
    }


def long_parts_reach(heads, gpus, percent, tokens):
    """With 16 heads, on 2 GPUs, forward and with backward, a ring by peer memory reaches so much or more from so many
    tokens a GPU on; not with the next shorter part.

    In words: more.
    """
    ring = {"form": "ring, peer memory", "heads": int(heads), "gpus": int(gpus)}
    found = [row for name in TABLES for row in rows("parallel_speed", name, **ring)]
    long, short = ([row["percent"] for row in found if (row["tokens"] >= tokens) is which] for which in (True, False))
    assert len(long) == 6 and min(long) >= percent > max(short)
    assert min(row["tokens"] for row in found if row["tokens"] >= tokens) == tokens


def the_model_promises(percent, tokens):
    """Forward, causal, on 2 GPUs, the model at 640 TFLOP/s and 360 GB/s reaches 100 % from so many tokens on, and not
    with a tenth fewer.

    In words: -.
    """
    for count, all_of_it in ((int(tokens), True), (2 * int(tokens), True), (9 * int(tokens) // 20 * 2, False)):
        setting = {"part": Part(count, 16, 16, 128), "speed": 640e12, "causal": True}
        reached = 100 * ideal(2, **setting) / predicted(2, link=Link(360e9), **setting)
        assert (abs(reached - float(percent)) < 0.05) is all_of_it


def the_ring_is_ahead():
    """From 16,384 tokens on, all-gather and all-to-all reach less than a ring by peer memory, by the medians; by the
    intervals too, but for an all-to-all with backward and 65,536 tokens.

    In words: behind, only.
    """
    assert all(other["percent"] < ring["percent"] for _, ring, other in _beside_the_ring())
    met = [(table, other["form"], ring["tokens"]) for table, ring, other in _beside_the_ring() if _overlap(ring, other)]
    assert met == [("both", "all-to-all", 65536)]


def _beside_the_ring():
    """(table, ring by peer memory, all-gather or all-to-all) of each setting of 2 GPUs from 16,384 tokens on."""
    for table in ("forward", "both"):
        for ring in rows("parallel_speed", table, form="ring, peer memory"):
            setting = {name: ring[name] for name in ("gpus", "tokens", "heads", "kv_heads")}
            for form in ("all-gather", "all-to-all") if ring["tokens"] >= 16384 else ():
                (other,) = rows("parallel_speed", table, form=form, **setting)
                yield table, ring, other


def as_a_graph_it_reaches():
    """With 8192 tokens a GPU, replayed as a graph, forward, a ring by peer memory reaches with 64 heads what it reaches
    with 16, to 2 % of the ideal.

    In words: -.
    """
    found = {heads: percent for (_, _, heads, _), percent in _forms("forward", "ring, peer memory, as a graph").items()}
    assert found.keys() == {16, 64} and abs(found[64] - found[16]) <= 2


def it_waits_for_launches(percent):
    """With 8192 tokens and 16 heads, forward, a ring as a graph takes so much less time than kernel by kernel.

    In words: -.
    """
    launched, replayed = (
        row["median"]
        for form in ("ring, peer memory", "ring, peer memory, as a graph")
        for row in rows("parallel_speed", "forward", form=form, tokens=8192, heads=16)
    )
    assert round(100 * (1 - replayed / launched)) == percent


def the_longest_lack_little(percent):
    """With 262,144 tokens each a ring of 2 GPUs by peer memory lacks so much of the ideal or less, in both passes.

    In words: most.
    """
    ring = {"form": "ring, peer memory", "tokens": 262144}
    found = [row for table in ("longest", "longest_both") for row in rows("parallel_speed", table, **ring)]
    assert len(found) == 2 and all(row["gpus"] == 2 and 100 - row["percent"] <= percent for row in found)


def messages_are_level():
    """With 64 heads on 8 of keys the intervals of rings by messages and by peer memory overlap in three of four
    settings; in the other one, forward with 8192 tokens, that of messages ends before that of peer memory begins.

    In words: only, behind.
    """
    apart, all_of_them = [], 0
    for table in ("forward", "both"):
        for copied in rows("parallel_speed", table, form="ring, peer memory", heads=64, kv_heads=8):
            (sent,) = rows("parallel_speed", table, form="ring, messages", heads=64, tokens=copied["tokens"])
            all_of_them += 1
            if not _overlap(sent, copied):
                apart.append((table, copied["tokens"], sent["high"] < copied["low"]))
    assert all_of_them == 4 and apart == [("forward", 8192, True)]


def pytorch_is_behind():
    """On 2 GPUs, in every setting in which it ran, forward and with backward, PyTorch's interval ends below where that
    of a ring by peer memory begins.

    In words: less, every, both.
    """
    for table in ("forward", "both"):
        found = rows("parallel_speed", table, form="pytorch")
        assert len(found) == 3 and {row["gpus"] for row in found} == {2}
        for row in found:
            setting = {name: row[name] for name in ("gpus", "tokens", "heads", "kv_heads")}
            (ring,) = rows("parallel_speed", table, form="ring, peer memory", **setting)
            assert row["high"] < ring["low"]


def pytorch_stays_below():
    """With backward PyTorch stays below 9 tenths of the ideal at each length.

    In words: below, tenths.
    """
    assert all(row["high"] < 90 for row in rows("parallel_speed", "both", form="pytorch"))


def a_ring_holds_less():
    """With backward a ring by peer memory takes less than half as much memory as an all-gather, at its highest.

    In words: less, half.
    """
    (ring,), (gathered,) = (rows("parallel_error", "memory", form=form) for form in ("ring, peer memory", "all-gather"))
    assert ring["peak"] < 0.5 * gathered["peak"]


def speeds_of_one_gpu(ahead, back):
    """The TFLOP/s of one GPU on 131,072 tokens, forward, and backward: what it takes with backward less forward.

    In words: -.
    """
    ring = {"form": "ring, peer memory", "tokens": 65536, "heads": 16}
    (both,), (forward,) = (rows("parallel_speed", table, **ring) for table in ("both", "forward"))
    taken = 2 * (both["ideal"] - forward["ideal"]) / 1e3
    assert round(backward_flops(131072, 128, 16) / 2 / taken / 1e12) == back
    assert round(attention_flops(131072, 128, 16) / 2 / (2 * forward["ideal"] / 1e3) / 1e12) == ahead


def _foretold():
    """The function of the snippet that predicts, with the numbers that it is given; nothing else of it is run."""
    tree = ast.parse((records.ROOT / "snippets/many_gpus/more_gpus.py").read_text(encoding="utf-8"))
    wanted = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).strip("()").isupper())
    ]
    known = {"Link": Link, "Part": Part, "predicted": predicted}
    exec(compile(ast.Module(wanted, []), "more_gpus", "exec"), known)
    return known["foretold"]


def foretold(gpus, tokens, forward, with_backward):
    """On so many GPUs with so many tokens each the snippet expects so many ms forward, and so many with backward.

    In words: each.
    """
    found = (_foretold()(int(gpus), int(tokens), backward) for backward in (False, True))
    assert [float(f"{time:.4g}") for time in found] == [float(forward), float(with_backward)]


def a_million_should_take_two_minutes():
    """In 2 minutes, to the minute, 4 GPUs should do 32 layers of 32 heads, forward, of 1,048,576 tokens.

    In words: -.
    """
    assert 4 * 262144 == 2**20 and round(32 * 32 / 16 * _foretold()(4, 262144, False) / 1e3 / 60) == 2


def copies_came_at(low, high):
    """Copies of peer memory come at so many GB/s: alone, at each length, and in the timeline."""
    alone = rows("overlap", "overlap", how="peer memory")
    (short,) = (row["data"] for row in alone if row["tokens"] == 8192)
    ((fetch,),) = _timeline("peer memory", "fetch")
    speeds = [row["data"] / row["alone"] for row in alone] + [1e3 * short / _lasts(fetch)]
    assert [round(min(speeds)), round(max(speeds))] == [low, high], speeds
