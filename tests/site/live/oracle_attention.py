"""Softmax and attention: the models beside ``kernels.softmax``, ``kernels.reference`` and the kernels that serve."""

import inspect
import math
import random
from functools import cache
from types import SimpleNamespace

import torch

from kernels.flash.partial import merge
from kernels.reference import attention, weights
from kernels.serving.decode_kernel import owner_of
from kernels.softmax import OnlineSoftmax, naive_softmax, safe_softmax
from scripts import records
from tests.site.live.harness import SAMPLE_SIZE, OracleCheck, per_case

CASE_COUNT = 1000
INF = math.inf
SCALE = 2**-0.5


def double(x) -> torch.Tensor:
    return torch.tensor(x, dtype=torch.float64)


def table(rng: random.Random, rows: int, columns: int = 2, size: float = 1.0) -> list[list[float]]:
    return [[size * rng.gauss() for _ in range(columns)] for _ in range(rows)]


@cache
def rows_and_block_sizes() -> list:
    """Rows of scores, each with the size of a block."""
    rng = random.Random(0)
    rows = [table(rng, 1, rng.randint(1, 20), 10 ** rng.uniform(-2, 2.5))[0] for _ in range(CASE_COUNT)]
    rows += [
        [-INF] * 5,
        [-INF, 3.0, 3.0, -INF, 700.0, 1000.0],
        [0.0, -0.0, 0.0],
        [88.0, 89.0, 104.0],
        [-3e38, 3e38],
        [1e-45],
    ]
    return [[torch.tensor(row).tolist(), rng.randint(1, 7)] for row in rows]  # in FP32, as the library reads them


def states(scores, block) -> list[list[float]]:
    """Maximum and sum after each block, the first before any."""
    all_states = [OnlineSoftmax.empty()]
    for block_scores in torch.tensor(scores).split(block):
        all_states.append(all_states[-1].update(block_scores))
    return [[float(x) for x in state] for state in all_states]


@per_case
def instants(scores, block):
    """The column as a step begins and as it ends; and each change waits for the one before."""
    all_states = states(scores, block)
    return [[all_states[k][1], all_states[k + 1][1], all_states[k + 1][0], True] for k in range(len(all_states) - 1)]


@per_case
def softmax_outputs(scores, values, _):
    return (double(scores).softmax(-1) if max(scores) > -INF else 0 * double(scores).exp()) @ double(values)


@cache
def scores_and_values() -> list:
    rng = random.Random(2)
    return [[table(rng, 1, 6, 3)[0], table(rng, 6), i % 4 == 0] for i in range(SAMPLE_SIZE)]


@per_case
def accumulators(scores, values, forget):
    """The sum and both numbers of the accumulator as each pair begins and ends, and all divided by the sum."""
    weighted = torch.cat([torch.ones(6, 1), torch.tensor(values)], 1).double()
    accumulator, ends = torch.zeros(3).double(), []
    for end in (2, 4, 6):
        all_scores = double(scores)
        top, old_top = all_scores[:end].max(), all_scores[: end - 2].max() if end > 2 else all_scores[:end].max()
        factor = 1.0 if forget else (old_top - top).exp()
        before_block, accumulator = (
            accumulator,
            accumulator * factor + (all_scores[end - 2 : end] - top).exp() @ weighted[end - 2 : end],
        )
        ends.append([before_block.tolist(), accumulator.tolist()])
    return [*ends, (accumulator / accumulator[0]).tolist()]


def cuts() -> list:
    rng = random.Random(3)
    return [[table(rng, 1, n, 5)[0], rng.randint(0, n)] for n in (rng.randint(2, 8) for _ in range(SAMPLE_SIZE))]


@per_case
def merged_readers(scores, cut):
    """Both readers' states, what each is worth in the end, and the state of both."""
    readers = [OnlineSoftmax.empty().update(double(part)) for part in (scores[:cut], scores[cut:])]
    both = readers[0].merge(readers[1])
    rescaled_sums = [float(reader.running_sum * (reader.running_max - both.running_max).exp()) for reader in readers]
    return [*[[float(x) for x in state] for state in readers], rescaled_sums, *[float(x) for x in both]]


@cache
def words() -> list:
    """Queries, keys and values of 1 to 5 words, and the scale."""
    rng = random.Random(0)
    sizes = [(rng.randint(1, 5), rng.randint(1, 4), 10 ** rng.uniform(-2, 1)) for _ in range(CASE_COUNT)]
    return [[*(table(rng, n, d, size) for _ in range(3)), d**-0.5] for n, d, size in sizes]


def score_tables() -> list:
    special = [
        [-1e300, 1e300, 1e300],
        [5e-324, 0.0, -5e-324],
        [709.0, 710.0, 800.0],
        [math.nan, 1.0, 2.0],
        [-INF, 3.0, 3.0],
    ]
    tables = [(double(q) @ double(k).T).tolist() for q, k, *_ in words()]
    return [[x, columns] for x in tables for columns in (False, True)] + [
        [[row], False] for row in [*special, [-INF] * 3]
    ]


@per_case
def softmaxes(scores, columns):
    """A row that is all hidden has zeros, as ``kernels.reference`` has it."""
    x, dim = double(scores), -2 if columns else -1
    return x.softmax(dim).masked_fill((x == -INF).all(dim, keepdim=True), 0)


SENTENCE_QUERIES = double([[2, 0, 1, 0], [1, 2, 0, 0], [2, 0, 1, 1], [0, 1, 3, 0], [2, 0, 1, 0], [0, 1, 0, 2]])
SENTENCE_KEYS = double([[0, 0, 0, 1], [2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 2], [0, 0, 0, 1], [1, 0, 2, 0]])


@per_case
def all_pairs(times, causal):
    names = ("the_1", "cat", "sat", "on", "the_2", "mat")
    scores = [[row[name] for name in names] for row in records.table("sentence", "scores")]
    return {"scores": scores, "shares": weights(times * SENTENCE_QUERIES, SENTENCE_KEYS, is_causal=causal)}


@cache
def arrows() -> list:
    rng = random.Random(0)
    special = [
        ([1.0, 2.0], [-3.0, -6.0]),
        ([1.0, 1e-9], [1.0, 0.0]),
        ([1e-150, 0.0], [1.0, 1.0]),
        ([100.0] * 6, [-100.0] * 6),
    ]
    return [table(rng, 2, rng.randint(1, 5), 10) for _ in range(CASE_COUNT)] + [list(pair) for pair in special]


@per_case
def products_and_lengths(q, k):
    product, lengths = float(double(q) @ double(k)), [float(double(x).norm()) for x in (q, k)]
    return [product, *lengths, product / lengths[0] / lengths[1], product / lengths[0]]


@per_case
def rotations(q, k, angle):
    """By complex numbers; and back again."""
    end = (
        complex(*q)
        / abs(complex(*q))
        * abs(complex(*k))
        * complex(*(part(math.radians(angle)) for part in (math.cos, math.sin)))
    )
    return [end.real, end.imag, angle]


TYPES = {"FP16": torch.float16, "BF16": torch.bfloat16, "FP32": torch.float32, "FP64": torch.float64}
ENDS = {"FP16": 11.0, "BF16": 88.5, "FP32": 88.7, "FP64": 709.7}  # where exp leaves the type


def scores_near_overflow(*names: str) -> list:
    rng = random.Random(0)
    special = [
        [-INF] * 4,
        [-INF, 3.0, 3.0, -INF],
        [math.nan, 1.0, 2.0, 3.0],
        [INF, 1.0, 2.0, 3.0],
        [100.0, 3.0, 2.0, 1.0],
    ]
    special += [[-100.0, -200.0, -800.0, -17.0], [0.0, -0.0, 1e-8, -1e-45], [65504.0, 65519.0, 65520.0, -65520.0]]
    rows = {
        name: table(rng, CASE_COUNT, 4, ENDS[name])
        + [[ENDS[name] + x for x in row] for row in table(rng, CASE_COUNT, 4)]
        for name in names
    }
    return [[name, row, safe] for name in names for row in rows[name] + special for safe in (False, True)]


@per_case
def softmax_in_type(name, row, safe):
    return (safe_softmax if safe else naive_softmax)(double(row).to(TYPES[name])).double()


@per_case
def largest_exponent(name):
    """Half a step above the largest number; there it rounds to infinity."""
    limits = torch.finfo(TYPES[name])
    return math.log(limits.max) + math.log1p(limits.eps / 4)


PASSES = ("forward", "dq", "dkdv")


@per_case
def tiles(name, problem):
    """The longest program first; a tile has a mask where it needs one, and is left out where nothing in it is seen."""
    queries, keys = len(problem["q"]), len(problem["k"])
    first_queries, first_keys = range(0, queries, problem["blockQ"]), range(0, keys, problem["blockK"])

    def tile(query: int, key: int) -> dict | None:
        last, end = query + problem["blockQ"] - 1, key + problem["blockK"] - 1
        seen = not problem["causal"] or key <= last
        beyond = end >= keys and name != "dkdv"  # a program that owns keys stores none beyond the end
        masked = (problem["causal"] and end > query) or beyond
        return {"first": query if name == "dkdv" else key, "masked": masked} if seen else None

    if name == "dkdv":
        return [
            {"first": key, "tiles": [*filter(None, (tile(query, key) for query in first_queries))]}
            for key in first_keys
        ]
    return [
        {"first": query, "tiles": [*filter(None, (tile(query, key) for key in first_keys))]}
        for query in reversed(first_queries)
    ]


def problems(max_sizes: tuple, count: int) -> list:
    """Rows, and how they are cut."""
    rng = random.Random(1)

    def problem(i: int) -> dict:
        queries, keys, block_q, block_k = (rng.randint(1, largest) for largest in max_sizes)
        rows = {"q": queries, "k": keys, "v": keys, "dout": queries}
        tables = {name: table(rng, length, 2, 10 ** (i % 3 - 1)) for name, length in rows.items()}
        return tables | {"blockQ": block_q, "blockK": block_k, "causal": i % 2 == 0, "scale": SCALE}

    return [[problem(i)] for i in range(count)]


@per_case
def outputs_and_gradients(problem):
    q, k, v = inputs = [double(problem[name]).requires_grad_() for name in "qkv"]
    out = attention(q, k, v, is_causal=problem["causal"])
    return [x.tolist() for x in (out, *torch.autograd.grad(out, inputs, double(problem["dout"])))]


@per_case
def block_owners(lengths, block, programs):
    """Block by block its owner, by the kernel's function in plain Python, and whether the sequence is its own."""
    names = {"tl": SimpleNamespace(minimum=min, maximum=max, where=lambda which, yes, no: yes if which else no)}
    exec(inspect.getsource(owner_of.fn).replace("@triton.jit", ""), names)
    blocks = [(sequence, i) for sequence, length in enumerate(lengths) for i in range(-(-length // block))]
    owners = [names["owner_of"](position, programs, len(blocks)) for position in range(len(blocks))]
    owners_of_sequence = [
        {owner for owner, (other_sequence, _) in zip(owners, blocks, strict=True) if other_sequence == sequence}
        for sequence in range(len(lengths))
    ]
    return [
        [owner, *place, len(owners_of_sequence[place[0]]) == 1] for owner, place in zip(owners, blocks, strict=True)
    ]


def decode_batches() -> list:
    rng = random.Random(0)
    pick = lambda *sizes: rng.randint(0, rng.choice(sizes))
    lengths = lambda: [1 + pick(1, 8, 40), pick(0, 8, 40), pick(0, 3)]
    return [[lengths(), rng.choice([1, 2, 3, 8, 64]), 1 + pick(2, 5, 130)] for _ in range(CASE_COUNT)]


def decode_cases() -> list:
    """Keys, values, query, scale, keys a block, where the blocks are cut, and whether the mask is aligned top left."""
    rng, cases = random.Random(0), []
    for i, (n, block, cut) in enumerate(
        [(1, 2, [0, 1]), (4, 2, [0, 1, 2]), (7, 3, [0, 1, 3]), (16, 2, [0, 1, 4, 8])] * (CASE_COUNT // 4)
    ):
        keys, values, query = table(rng, n, 2, 10 ** rng.uniform(-2, 2)), table(rng, n), table(rng, 1)[0]
        cases.append([keys, values, query, SCALE, block, cut, i % 5 == 0])
    return cases


@per_case
def decode_output_and_lse(keys, values, query, scale, block, cuts, top_left):
    q, k, v = double([query]), double(keys), double(values)
    lse = (scale * q @ k.T)[:, : 1 if top_left else None].logsumexp(-1)
    return [attention(q, k, v, is_causal=top_left)[0].tolist(), float(lse)]


def parts_to_merge() -> list:
    rng = random.Random(0)
    lses = [table(rng, 1, 2, 10 ** rng.uniform(-2, 3))[0] for _ in range(CASE_COUNT)]
    lses += [(-INF, 1.0), (1.0, -INF), (-INF, -INF), (2.0, 2.0)]
    return [[[{"output": table(rng, 1)[0], "lse": lse} for lse in pair]] for pair in lses]


CHECKS = [
    OracleCheck("online_softmax: sums", per_case(lambda scores, block: states(scores, block)[1:]), rows_and_block_sizes,
        ("forget ? 1 : factor", "1"), rel_tol=1e-6),
    OracleCheck("online_softmax: instants", instants, rows_and_block_sizes, ("const first = shrink[1]", "const first = shrink[0]"), rel_tol=1e-6),
    OracleCheck("online_softmax: output", softmax_outputs, lambda: [[x, table(random.Random(1), len(x)), size] for x, size in rows_and_block_sizes()],
        ("x * scale + total", "x + total"), rel_tol=1e-6, abs_tol=1e-9),
    OracleCheck("accumulator: columns", accumulators, scores_and_values, ("(before - recent) * now.scale", "before - recent"),
        rel_tol=1e-6, abs_tol=1e-6),
    OracleCheck("merge: shared", merged_readers, cuts, ("factors[i] * reader.sum", "reader.sum"), rel_tol=1e-5,
        other_mistakes=(("expBelow(reader.max, max)", "expBelow(max, reader.max)"),)),
    OracleCheck("attention_row: attention", per_case(lambda q, k, v, _: attention(double(q), double(k), double(v))), words,
        ("power / total", "power"), rel_tol=1e-6, abs_tol=1e-9),
    OracleCheck("attention_row: shares", softmaxes, score_tables, ("columns ? transposed", "!columns ? transposed"),
        rel_tol=1e-6, abs_tol=1e-9),
    OracleCheck("attention_row: causal", per_case(lambda q, k, *_: weights(double(q), double(k), is_causal=True, scale=1.0)), words,
        ("j > i ? -Infinity", "j > i + 1 ? -Infinity"), rel_tol=1e-6, abs_tol=1e-9),
    OracleCheck("sentence: allPairs", all_pairs, lambda: [[4 * random.Random(i).random(), i % 2 == 0] for i in range(100)],
        ("hidden ? causal(divided) : divided", "divided"), rel_tol=1e-6),
    OracleCheck("dot: measured", products_and_lengths, arrows, ("number * b[i])", "number + b[i])"), rel_tol=1e-6, abs_tol=1e-9),
    OracleCheck("dot: angle", per_case(lambda *_: math.degrees(1e-9)), lambda: [[[1.0, 1e-9], [1.0, 0.0]]],
        ("(half * 360) / Math.PI", "(Math.acos(dot(a, b) / length(a) / length(b)) * 180) / Math.PI"), rel_tol=1e-6),
    OracleCheck("dot: turned and back", rotations,
        lambda: [[*pair, i % 350 - 175.5] for i, pair in enumerate(arrows()) if len(pair[0]) == 2],
        ("x * cos - y * sin", "x * cos + y * sin"), rel_tol=1e-6, abs_tol=1e-9),
    OracleCheck("overflow: shares", softmax_in_type, lambda: scores_near_overflow("FP16", "BF16"),
        ('type === "FP64" ? round : Math.fround', "round")),
    OracleCheck("overflow: shares", softmax_in_type, lambda: scores_near_overflow("FP32", "FP64"), ("round(score - max)", "score"),
        rel_tol=1e-6, abs_tol=1e-44),
    OracleCheck("overflow: end", largest_exponent, lambda: [[name] for name in TYPES], ("else above", "else fits"), rel_tol=1e-6),
    OracleCheck("flash: programs", tiles, lambda: [[name, *one] for one in problems((12, 12, 5, 5), CASE_COUNT) for name in PASSES],
        ("Math.min(stop, first + 1)", "Math.min(stop, first + blockQ)")),
    OracleCheck("flash: output and gradients", outputs_and_gradients, lambda: problems((4, 4, 3, 3), CASE_COUNT),
        ("masked && !problem.forget", "masked && problem.forget"), rel_tol=1e-6, abs_tol=1e-9),
    OracleCheck("decode: owners", block_owners, decode_batches, ("Math.min(program, blocks % programs)", "(program > 0)")),
    OracleCheck("decode: placeOf", per_case(lambda token, size: dict(zip(("entry", "row"), divmod(token, size), strict=True))),
        lambda: [[token, size] for size in (16, 32) for token in range(200)],
        ("token % pageSize", "token % (pageSize - 1)")),
    OracleCheck("decode: row", decode_output_and_lse, decode_cases, ("topLeft && from + i > 0", "topLeft && i > 0"), rel_tol=1e-6, abs_tol=1e-9),
    OracleCheck("decode: merged",
        per_case(lambda parts: [*merge(*(double(part[name]) for part in parts for name in ("output", "lse")))]), parts_to_merge,
        ("Math.exp(lse - max)", "1"), rel_tol=1e-6, abs_tol=1e-12),
]  # fmt: skip
