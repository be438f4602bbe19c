"""Softmax and attention: the models beside ``kernels.softmax``, ``kernels.reference``, ``kernels.flash`` and serving."""

import ast
import inspect
import math
import random
import textwrap
from functools import cache
from types import SimpleNamespace

import torch

from kernels.flash.backward import flash_dkdv_kernel, flash_dq_kernel
from kernels.flash.forward import flash_forward_kernel
from kernels.flash.partial import merge
from kernels.reference import attention, weights
from kernels.serving.cache import KVCache
from kernels.serving.decode_kernel import owner_of
from kernels.softmax import OnlineSoftmax, naive_softmax, safe_softmax
from scripts import records
from tests.site.live.harness import Row, each

MANY = 2000
INF = math.inf
DOUBLE = dict(dtype=torch.float64)


def rows_of_scores() -> list[list[float]]:
    drawn = random.Random(0)
    size = lambda: 10 ** drawn.uniform(-2, 2.5)
    special = [[-INF] * 5, [-INF, 3.0, 3.0, -INF, 700.0, 1000.0], [0.0, -0.0, 0.0, 0.0], [88.0, 89.0, 104.0], [-3e38, 3e38], [1e-45, 1e-40]]  # fmt: skip
    rows = [[scale * drawn.gauss() for _ in range(drawn.randint(1, 20))] for scale in (size() for _ in range(MANY))]
    return [torch.tensor(row).tolist() for row in rows + special]  # in FP32, as the library reads them


def states(scores: list[float], block: int) -> list[OnlineSoftmax]:
    found = [OnlineSoftmax.empty()]
    for part in torch.tensor(scores).split(block):
        found.append(found[-1].update(part))
    return found


def in_blocks() -> list:
    return [[scores, random.Random(i).randint(1, 7)] for i, scores in enumerate(rows_of_scores())]


@each
def maxima_and_sums(scores, block):
    return [[float(x) for x in state] for state in states(scores, block)[1:]]


@each
def forgotten(scores, block):
    """Each exponential is measured by the maximum of its time."""
    found, high, total = [], -INF, 0.0
    for i in range(0, len(scores), block):
        part = scores[i : i + block]
        high = max(high, *part)
        total += sum(math.exp(score - high) for score in part if score > -INF)
        found.append([high, total])
    return found


@each
def instants(scores, block):
    """The column as a step begins and as it ends; and each change waits for the one before."""
    found = states(scores, block)
    ends = [float(state.running_sum) for state in found]
    return [[*ends[k : k + 2], float(found[k + 1].running_max), True] for k in range(len(found) - 1)]


@each
def blended(scores, values, block):
    shares = torch.tensor(scores, **DOUBLE).softmax(-1) if max(scores) > -INF else torch.zeros(len(scores), **DOUBLE)
    return shares @ torch.tensor(values, **DOUBLE)


def with_values() -> list:
    drawn = random.Random(1)
    return [[scores, [[drawn.gauss(), drawn.gauss()] for _ in scores], block] for scores, block in in_blocks()]


def words() -> list:
    """Queries, keys and values of 1 to 5 words, and the scale."""
    drawn = random.Random(0)

    def tables() -> list:
        length, d, size = drawn.randint(1, 5), drawn.randint(1, 4), 10 ** drawn.uniform(-2, 1)
        return [[[size * drawn.gauss() for _ in range(d)] for _ in range(length)] for _ in range(3)] + [d**-0.5]

    return [tables() for _ in range(MANY)]


def scores_of(cases: list) -> list[torch.Tensor]:
    return [torch.tensor(q, **DOUBLE) @ torch.tensor(k, **DOUBLE).T for q, k, *_ in cases]


def score_tables() -> list:
    special = [
        [[-1e300, 1e300, 1e300]],
        [[5e-324, 0.0, -5e-324]],
        [[709.0, 710.0, 800.0]],
        [[math.nan, 1.0, 2.0]],
        [[-INF, 3.0, 3.0]],
        [[-INF] * 3],
    ]
    return [[table.tolist(), columns] for table in scores_of(words()) for columns in (False, True)] + [
        [table, False] for table in special
    ]


@each
def softmaxes(table, columns):
    """A row that is all hidden has zeros, as ``kernels.reference`` has it."""
    scores, dim = torch.tensor(table, **DOUBLE), -2 if columns else -1
    return scores.softmax(dim).masked_fill((scores == -INF).all(dim, keepdim=True), 0)


ASKS = torch.tensor([[2, 0, 1, 0], [1, 2, 0, 0], [2, 0, 1, 1], [0, 1, 3, 0], [2, 0, 1, 0], [0, 1, 0, 2]], **DOUBLE)
OFFERS = torch.tensor([[0, 0, 0, 1], [2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 2], [0, 0, 0, 1], [1, 0, 2, 0]], **DOUBLE)


def recorded(name: str, **only) -> list:
    rows = [row for row in records.table("sentence", name) if only.items() <= row.items()]
    return [[row[word] for word in ("the_1", "cat", "sat", "on", "the_2", "mat")] for row in rows]


def arrows() -> list:
    drawn = random.Random(0)
    list_of = lambda length: [10 * drawn.gauss() for _ in range(length)]
    special = [
        [[1.0, 2.0], [1.0, 2.0]],
        [[1.0, 2.0], [-3.0, -6.0]],
        [[1.0, 1e-9], [1.0, 0.0]],
        [[1e-150, 0.0], [1.0, 1.0]],
        [[100.0] * 6, [-100.0] * 6],
    ]
    return [[list_of(length), list_of(length)] for length in (drawn.randint(1, 5) for _ in range(MANY))] + special


@each
def measured(q, k):
    q, k = torch.tensor(q, **DOUBLE), torch.tensor(k, **DOUBLE)
    product, lengths = float(torch.linalg.vecdot(q, k)), [float(torch.linalg.norm(x)) for x in (q, k)]
    return [product, *lengths, product / lengths[0] / lengths[1], product / lengths[0]]


@each
def turned(q, k, angle):
    """By complex numbers; and back again."""
    q, k = complex(*q), complex(*k)
    end = q / abs(q) * abs(k) * complex(math.cos(math.radians(angle)), math.sin(math.radians(angle)))
    return [end.real, end.imag, angle]


TYPES = {"FP16": torch.float16, "BF16": torch.bfloat16, "FP32": torch.float32, "FP64": torch.float64}
ENDS = {"FP16": 11.0, "BF16": 88.5, "FP32": 88.7, "FP64": 709.7}  # where exp leaves the type


def near_the_end(*names: str) -> list:
    drawn = random.Random(0)
    special = [[-INF] * 4, [-INF, 3.0, 3.0, -INF], [math.nan, 1.0, 2.0, 3.0], [INF, 1.0, 2.0, 3.0], [100.0, 3.0, 2.0, 1.0], [-100.0, -200.0, -800.0, -17.0], [0.0, -0.0, 1e-8, -1e-45], [65504.0, 65519.0, 65520.0, -65520.0]]  # fmt: skip
    around = lambda end, i: [end * (i % 2) + (1 if i % 2 else end) * drawn.gauss() for _ in range(4)]
    return [
        [name, row, safe]
        for name in names
        for safe in (False, True)
        for row in [around(ENDS[name], i) for i in range(MANY // 2)] + special
    ]


@each
def softmax_in(name, row, safe):
    return (safe_softmax if safe else naive_softmax)(torch.tensor(row, **DOUBLE).to(TYPES[name])).double()


def ties() -> list:
    """Every number of both types and what is halfway between two."""
    return [[name, value] for name in ("FP16", "BF16") for value in halves(TYPES[name])]


def halves(dtype: torch.dtype) -> list[float]:
    codes = torch.arange(-(2**15), 2**15, 7, dtype=torch.int32).to(torch.int16).view(dtype).double()
    codes = codes[codes.isfinite()].sort().values
    return [*codes.tolist(), *((codes[1:] + codes[:-1]) / 2).tolist(), 1e5, 1e39, -1e39, 65520.0, 65519.9]


KERNELS = {"forward": flash_forward_kernel, "dq": flash_dq_kernel, "dkdv": flash_dkdv_kernel}
BOUNDS = {"query_blocks", "first_query", "first_key", "start", "stop", "whole"}
SCALE = 2**-0.5


@cache
def loops_of(name: str):
    """The kernel's own lines that say which tiles a program visits, compiled: they fill ``visited``."""
    body = ast.parse(textwrap.dedent(inspect.getsource(KERNELS[name].fn))).body[0].body
    assigned = lambda line: {x.id for x in getattr(line, "targets", []) if isinstance(x, ast.Name)}
    lines = [line for line in body if assigned(line) & BOUNDS]
    loops = [line for top in body for line in ast.walk(top) if isinstance(line, ast.For)]
    (passes,) = [loop for loop in loops if "static_range" in ast.unparse(loop.iter)]
    passes.body[0].body = ast.parse(f"visited.append(({passes.body[0].target.id}, {passes.target.id}))").body
    return compile(ast.Module([*lines, passes], []), name, "exec")


@each
def tiles(name, problem):
    """What the kernel's programs visit, in the order in which they are launched."""
    queries, keys, block_q, block_k = len(problem["q"]), len(problem["k"]), problem["blockQ"], problem["blockK"]
    cdiv = lambda n, block: -(-n // block)
    programs = []
    for rank in range(cdiv(keys, block_k) if name == "dkdv" else cdiv(queries, block_q)):
        names = {
            "tl": SimpleNamespace(minimum=min, cdiv=cdiv, static_range=range),
            "rank": rank, "seq_q": queries, "seq_k": keys, "length": keys, "padded_q": cdiv(queries, block_q) * block_q,
            "BLOCK_Q": block_q, "BLOCK_K": block_k, "CAUSAL": problem["causal"], "visited": [],
        }  # fmt: skip
        exec(loops_of(name), names)
        visited = [{"first": first, "masked": bool(which) != (name == "dkdv")} for first, which in names["visited"]]
        programs.append({"first": names["first_key" if name == "dkdv" else "first_query"], "tiles": visited})
    return programs


def grids() -> list:
    drawn = random.Random(0)
    sizes = [([drawn.randint(1, most) for most in (12, 12, 5, 5)], drawn.random() < 0.5) for _ in range(MANY)]
    return [
        [name, {"q": [[0, 0]] * q, "k": [[0, 0]] * k, "blockQ": block_q, "blockK": block_k, "causal": causal}]
        for (q, k, block_q, block_k), causal in sizes
        for name in KERNELS
    ]


def problems() -> list:
    drawn = random.Random(1)

    def problem(i: int) -> dict:
        queries, keys, block_q, block_k = (drawn.randint(1, most) for most in (4, 4, 3, 3))
        table = lambda rows: [[10 ** (i % 3 - 1) * drawn.gauss() for _ in range(2)] for _ in range(rows)]
        tables = {"q": table(queries), "k": table(keys), "v": table(keys), "dout": table(queries)}
        return tables | {"blockQ": block_q, "blockK": block_k, "causal": i % 2 == 0, "scale": SCALE}

    return [[problem(i)] for i in range(MANY)]


@each
def outputs_and_gradients(problem):
    q, k, v = inputs = [torch.tensor(problem[name], requires_grad=True, **DOUBLE) for name in "qkv"]
    out = attention(q, k, v, is_causal=problem["causal"])
    dq, dk, dv = torch.autograd.grad(out, inputs, torch.tensor(problem["dout"], **DOUBLE))
    return [x.tolist() for x in (out, dq, dk, dv)]


def played(kernel):
    """A function of a kernel in plain Python, for single numbers."""
    names = {"tl": SimpleNamespace(minimum=min, maximum=max, where=lambda which, yes, no: yes if which else no)}
    exec(inspect.getsource(kernel.fn).replace("@triton.jit", ""), names)
    return names[kernel.fn.__name__]


@each
def shares(lengths, block, programs):
    """Block by block its owner, and whether nobody else has a block of that sequence."""
    owner = played(owner_of)
    counts = [-(-length // block) for length in lengths]
    line = [(sequence, i) for sequence, count in enumerate(counts) for i in range(count)]
    owners = [owner(at, programs, len(line)) for at in range(len(line))]
    of = {
        s: {program for program, (sequence, _) in zip(owners, line, strict=True) if sequence == s}
        for s in range(len(lengths))
    }
    return [[program, *place, len(of[place[0]]) == 1] for program, place in zip(owners, line, strict=True)]


def lines_of_blocks() -> list:
    drawn = random.Random(0)
    pick = lambda *sizes: drawn.randint(0, drawn.choice(sizes))
    return [
        [[1 + pick(1, 8, 40), pick(0, 8, 40), pick(0, 3)], drawn.choice([1, 2, 3, 8, 64]), 1 + pick(2, 5, 130)]
        for _ in range(MANY)
    ]


def places(cases: list) -> list:
    """A cache whose slots are numbered says where it finds each token of a sequence."""
    found = {}
    for size in (16, 32):
        pages = torch.randperm(1024 // size)[None]
        cache = KVCache(pages, kv_heads=1, head_dim=16, format="fp16", page_size=size, device="cpu")
        cache.keys[:, 0, :, 0] = torch.arange(len(cache.keys))[:, None] * size + torch.arange(size)
        cache.host_lengths = [1000]
        entries = {int(page): entry for entry, page in enumerate(pages[0])}
        slots = cache.gather(0)[0][0, :, 0].long().tolist()
        found |= {
            (token, size): {"entry": entries[slot // size], "row": slot % size} for token, slot in enumerate(slots)
        }
    return [found[tuple(case)] for case in cases]


def pasts() -> list:
    """Keys, values, the query, keys a block, and where the blocks are cut."""
    drawn = random.Random(0)
    table = lambda rows, size=1.0: [[size * drawn.gauss() for _ in range(2)] for _ in range(rows)]
    cuts = [(1, 2, [0, 1]), (4, 2, [0, 1, 2]), (7, 3, [0, 1, 3]), (16, 2, [0, 1, 4, 8])]
    drawn_cuts = [cuts[i % 4] for i in range(MANY)]
    return [
        [table(n, 10 ** drawn.uniform(-2, 2)), table(n), *table(1), block, cut, i % 5 == 0]
        for i, (n, block, cut) in enumerate(drawn_cuts)
    ]


@each
def decoded(keys, values, query, block, cuts, top_left):
    q, k, v = (torch.tensor(x, **DOUBLE) for x in ([query], keys, values))
    lse = (q @ k.T * SCALE)[:, :1].sum() if top_left else (q @ k.T * SCALE).logsumexp(-1)
    return [attention(q, k, v, is_causal=top_left)[0].tolist(), float(lse)]


def two_parts() -> list:
    drawn = random.Random(0)
    part = lambda lse: {"output": [drawn.gauss(), drawn.gauss()], "lse": lse}
    loud = [[drawn.gauss() * 10 ** drawn.uniform(-2, 3) for _ in range(2)] for _ in range(MANY)]
    return [[[part(a), part(b)]] for a, b in [*loud, (-INF, 1.0), (1.0, -INF), (-INF, -INF), (2.0, 2.0)]]


@each
def merged(parts):
    tensors = [torch.tensor(part[name], **DOUBLE) for part in parts for name in ("output", "lse")]
    return [x.tolist() for x in merge(*tensors)]


ROWS = [
    Row("stream", "(scores, block) => m.read(scores, block).steps.slice(1).map(({ max, sum }) => [max, sum])",
        maxima_and_sums, in_blocks, ("forget ? 1 : factor", "1"), near=1e-6),
    Row("stream", "(scores, block) => m.read(scores, block, true).steps.slice(1).map(({ max, sum }) => [max, sum])",
        forgotten, in_blocks, ("forget ? 1 : factor", "factor"), near=1e-9),
    Row("stream", """(scores, block) => { const run = m.read(scores, block); return run.steps.slice(1).map((_, i) => {
            const [from, to, { line, shrink, drops }] = [m.frame(run, i + 1, 0), m.frame(run, i + 1), m.times(run, i + 1)];
            const waits = (shrink === line || shrink[0] >= line[1]) && drops.every(([start]) => start >= shrink[1]);
            return [from.sum, to.sum, to.max, waits]; }); }""",
        instants, in_blocks, ("const first = shrink[1]", "const first = shrink[0]"), near=1e-6),
    Row("stream", """(scores, values, block) => { let state = m.empty(2);
            for (let i = 0; i < scores.length; i += block) state = m.update(state, scores.slice(i, i + block), values.slice(i, i + block));
            return m.output(state); }""",
        blended, with_values, ("x * scale + total", "x + total"), near=1e-6, floor=1e-9),
    Row("row", "attention", each(lambda q, k, v, _: attention(*(torch.tensor(x, **DOUBLE) for x in (q, k, v)))), words,
        ("power / total", "power"), near=1e-6, floor=1e-9),
    Row("row", "shares", softmaxes, score_tables, ("columns ? transposed", "!columns ? transposed"), near=1e-6, floor=1e-9),
    Row("row", "(q, k) => m.causal(m.products(q, k)).map(m.softmax)",
        each(lambda q, k, *_: weights(*(torch.tensor(x, **DOUBLE) for x in (q, k)), is_causal=True, scale=1.0)), words,
        ("j > i ? -Infinity", "j > i + 1 ? -Infinity"), near=1e-6, floor=1e-9),
    Row("words", "looks", each(lambda times, causal: {"shares": weights(times * ASKS, OFFERS, is_causal=causal)}),
        lambda: [[4 * random.Random(i).random(), i % 2 == 0] for i in range(MANY)],
        ("hidden ? causal(divided) : divided", "divided"), near=1e-6),
    Row("words", "(times) => { const { scores, shares } = m.looks(times, false); return [scores, shares.map((row) => row.map((x) => 100 * x))]; }",
        each(lambda times: [recorded("scores"), recorded("sharpness", times=times)]), lambda: [[0], [0.5], [1], [2], [4]],
        ("Math.sqrt(ASKS[0].length)", "ASKS[0].length"), near=1e-6),
    Row("dot", """(q, k) => { const { sum, lengths, angle, along } = m.measured(q, k);
            return [sum, ...lengths, Math.cos((angle * Math.PI) / 180), along]; }""",
        measured, arrows, ("number * b[i])", "number + b[i])"), near=1e-6, floor=1e-9),
    Row("dot", "angle", each(lambda *_: math.degrees(1e-9)), lambda: [[[1.0, 1e-9], [1.0, 0.0]]],
        ("(half * 360) / Math.PI", "(Math.acos(dot(a, b) / length(a) / length(b)) * 180) / Math.PI"), near=1e-6),
    Row("dot", "(q, k, angle) => [...m.turned(q, k, angle), m.turn(q, m.turned(q, k, angle))]", turned,
        lambda: [[*pair, 350 * random.Random(i).random() - 175] for i, pair in enumerate(arrows()) if len(pair[0]) == 2],
        ("x * cos - y * sin", "x * cos + y * sin"), near=1e-6, floor=1e-9),
    Row("overflow", "(type, scores, safe) => m.softmaxIn(type, scores, safe).shares", softmax_in,
        lambda: near_the_end("FP16", "BF16"), ('type === "FP64" ? round : Math.fround', "round")),
    Row("overflow", "(type, scores, safe) => m.softmaxIn(type, scores, safe).shares", softmax_in,
        lambda: near_the_end("FP32", "FP64"), ("round(score - max)", "score"), near=1e-6, floor=1e-44),
    Row("overflow", "rounded", each(lambda name, value: torch.tensor(value, **DOUBLE).to(TYPES[name]).double()), ties,
        ("BF16: nearest(FORMATS.BF16)", "BF16: nearest(FORMATS.FP16)")),
    Row("flash", "programs", tiles, grids, ("Math.min(stop, first + 1)", "Math.min(stop, first + blockQ)")),
    Row("flash", """(problem) => { const [dq, dkdv] = ["dq", "dkdv"].map((pass) => m.backward(pass, problem, 99));
            const scaled = (rows) => rows.map((row) => row.map((x) => problem.scale * x));
            const out = m.forward(problem, 99).map(({ blend, sum }) => blend.map((x) => x / sum));
            return [out, scaled(dq.dq), scaled(dkdv.dk), dkdv.dv]; }""",
        outputs_and_gradients, problems, ("masked && !problem.forget", "masked && problem.forget"), near=1e-6, floor=1e-9),
    Row("decode", """(lengths, block, programs) => m.shares(lengths, block, programs).flatMap(({ program, sequence, begin, count, whole }) =>
            Array.from({ length: count }, (_, i) => [program, sequence, begin + i, whole]))""",
        shares, lines_of_blocks, ("Math.min(program, blocks % programs)", "(program > 0)")),
    Row("decode", "placeOf", places, lambda: [[token, size] for size in (16, 32) for token in range(1000)],
        ("row: token % pageSize", "row: token % (pageSize - 1)")),
    Row("decode", f"""(keys, values, query, block, cuts, topLeft) => {{
            const part = (stop, i) => m.partOf(keys, values, query, {SCALE}, block, cuts[i], stop - cuts[i], topLeft);
            const {{ output, lse }} = m.merged(cuts.slice(1).map(part)); return [output, lse]; }}""",
        decoded, pasts, ("topLeft && from + i > 0", "topLeft && i > 0"), near=1e-6, floor=1e-9),
    Row("decode", "(parts) => { const { output, lse } = m.merged(parts); return [output, lse]; }", merged, two_parts,
        ("Math.exp(lse - most)", "1"), near=1e-6, floor=1e-12),
]  # fmt: skip
