"""Oracles of the models that count bytes, FLOP and limits: ``kernels.bench`` and a real cache."""

import random
from functools import cache

import torch

from kernels.bench import cost, hardware
from kernels.bench.hardware import H100, NVLINK
from kernels.bench.parallel.cost import Part, min_tokens_to_overlap, sent_bytes
from kernels.serving.cache import KVCache
from scripts import records
from tests.site.live.harness import OracleCheck, per_case

CASE_COUNT = 3000
REL_TOL = 1e-12
LARGEST = {"n": 2**20, "dim": 512, "bytes": 8, "heads": 128, "batch": 256}
PEAK = {"H100": "bf16 peak", "H200": "bf16 peak", "A100": "fp16 tensor core peak", "V100": "fp16 tensor core peak"}


@cache
def shapes() -> list[list[dict]]:
    rng = random.Random(0)
    random_shapes = [[{name: rng.randint(1, most) for name, most in LARGEST.items()}] for _ in range(CASE_COUNT)]
    return [[dict.fromkeys(LARGEST, 1)], *random_shapes]


@per_case
def costs(shape):
    setting = tuple(shape.values())
    n, dim, size, heads, batch = setting
    return [
        cost.square_bytes(n, size, heads, batch), cost.qkvo_bytes(*setting) / 4, cost.qkvo_bytes(*setting),
        cost.eager_peak_bytes(*setting), cost.fused_peak_bytes(*setting),
        *[cost.attention_flops(n, dim, heads, batch, causal=causal) for causal in (False, True)],
    ]  # fmt: skip


def chip(name: str) -> dict:
    registry = getattr(hardware, name)
    constants = {"memory": "hbm", "bandwidth": "hbm bandwidth", "peak": PEAK[name]}
    return {key: registry[what].value for key, what in constants.items()} | {"link": NVLINK[name].value}


PRINTED = {
    ("binary", 2**27): "128 MiB", ("binary", 1023): "1023 B", ("binary", 0): "0 B", ("metric", 2**27): "134 MB",
    ("metric", 1_068_000): "1.07 MB", ("time", 5.1257e-3): "5.13 ms", ("time", 41e-6): "41 µs",
    ("grouped", 8192): "8192", ("grouped", 1048576): "1,048,576", ("brief", 31.25): "31.3",
}  # fmt: skip


@per_case
def bytes_held(shape, memory):
    """The bytes held at each step, and the step where it bursts: just full isn't burst."""
    row, square = cost.qkvo_bytes(*shape.values()) / 4, cost.square_bytes(shape["n"], *list(shape.values())[2:])
    peak = 3 * row + cost.eager_peak_bytes(*shape.values())
    steps = [3 * row, 3 * row + square, *[3 * row + 2 * square] * 2, peak, 4 * row]
    return [steps, next((step for step, size in enumerate(steps) if size > memory), 5)]


def memories() -> list:
    rng = random.Random(1)
    small_shape = {"n": 8, "dim": 2, "bytes": 4, "heads": 1, "batch": 1}
    peak = 3 * 64 + cost.eager_peak_bytes(8, 2, 4)
    return [[shape, 10 ** rng.uniform(3, 16)] for (shape,) in shapes()] + [[small_shape, peak], [small_shape, peak - 1]]


FORMS = {
    "typed": cost.eager_traffic,
    "textbook": lambda *setting: [
        one for one in cost.eager_traffic(*setting) if one.kernel != "scale"
    ],  # it's folded in
    "fused": cost.fused_traffic,
}


@per_case
def traffic(form, shape):
    """Of each kernel the bytes read and written; and how often the square goes, with its bytes."""
    trips = {"typed": 6, "textbook": 4, "fused": 0}[form]
    square = cost.square_bytes(shape["n"], *list(shape.values())[2:])
    return [[[each.kernel, each.read, each.written] for each in FORMS[form](*shape.values())], trips, trips * square]


def kernels() -> list:
    """Kernels on chips of any kind, some with a time; and one at the ridge."""
    rng = random.Random(0)
    log_uniform = lambda low, high: 10 ** rng.uniform(low, high)
    work = lambda: {"flops": log_uniform(3, 18), "moved": log_uniform(2, 14)}
    chips = lambda: {"peak": log_uniform(11, 16), "bandwidth": log_uniform(10, 13)}
    ridge = [{"flops": 600, "moved": 2}, {"peak": 3e12, "bandwidth": 1e10}, 0]
    return [[work(), chips(), rng.choice([0, log_uniform(-7, 2)])] for _ in range(CASE_COUNT)] + [ridge]


@per_case
def roofline_point(work, chip, seconds):
    intensity = work["flops"] / work["moved"]
    limit = cost.attainable(intensity, chip["peak"], chip["bandwidth"])
    share = work["flops"] / seconds / limit if seconds else 0
    return {"intensity": intensity, "limit": limit, "least": work["flops"] / limit, "share": share}


def roofline_examples(_) -> list:
    return [[[row["step"].replace("_", " "), row["work"], row["moved"]] for row in records.table("roofline", "roofs")]]


@cache
def models() -> list:
    """Models, each with a context, a batch, a format, and GPUs."""
    rng = random.Random(0)

    def model() -> dict:
        kv_heads, dim = rng.randint(1, 32), 16 * rng.randint(1, 16)
        heads = {"heads": kv_heads * rng.randint(1, 16), "kvHeads": kv_heads}
        return {"layers": rng.randint(1, 130), **heads, "dim": dim, "weights": rng.uniform(1e8, 1e12)}

    size = lambda: [rng.randint(1, 2**20), rng.randint(1, 1024)]
    return [[model(), *size(), rng.choice(("bf16", "fp8", "nvfp4")), 2 ** rng.randint(0, 4)] for _ in range(CASE_COUNT)]


@cache
def token_bytes(kv_heads: int, dim: int, format: str) -> int:
    """What a real cache gives it, in one layer."""
    table = torch.zeros(1, 1, dtype=int)
    return KVCache(table, kv_heads=kv_heads, head_dim=dim, format=format, device="cpu").bytes_per_token


@per_case
def work(model, n, batch, format, gpus):
    """A token, a prefill, and a step of decode, which is one query on the cache."""
    layers, heads, kv_heads, dim, weights = model.values()
    token = layers * token_bytes(kv_heads, dim, format)
    causal = layers * cost.attention_flops(n, dim, heads, batch, causal=True)
    rows = layers * sum(cost.qkvo_bytes(n, dim, 2, count, batch) / 2 for count in (heads, kv_heads))
    one = layers * (cost.attention_flops(n, dim, heads, batch) // n)
    weight_work = lambda words: {"flops": 2 * weights * words, "bytes": 2 * weights}
    prefill = {"attention": {"flops": causal, "bytes": rows}, "weights": weight_work(n * batch)}
    return [token, prefill, {"attention": {"flops": one, "bytes": token * n * batch}, "weights": weight_work(batch)}]


@per_case
def memory_use(model, n, batch, format, gpus):
    """As many sequences as fit, and as many tokens."""
    layers, heads, kv_heads, dim, weights = model.values()
    memory = gpus * H100["hbm"].value
    token, free = layers * token_bytes(kv_heads, dim, format), max(0, memory - 2 * weights)
    fits = {"sequences": free // (token * n), "longest": free // (token * batch)}
    peaks = {
        "unfused": cost.eager_peak_bytes(n, dim, 2, heads, batch),
        "fused": cost.fused_peak_bytes(n, dim, 2, heads, batch),
    }
    return peaks | fits | {"all": memory, "cache": token * n * batch}


@per_case
def ring_times(model, tokens, batch, _, gpus):
    """What a ring sends; computing beside fetching; and whether the one hides the other."""
    part = Part(tokens, model["heads"], model["kvHeads"], model["dim"])
    least_tokens = min_tokens_to_overlap(part, H100["bf16 peak"].value, NVLINK["H100"].value, causal=True)
    return [model["layers"] * batch * sent_bytes("ring", gpus, part), tokens / least_tokens, tokens >= least_tokens]


@per_case
def limit(flops, moved, chips):
    return flops / cost.attainable(flops / moved, H100["bf16 peak"].value, H100["hbm bandwidth"].value) / chips


@per_case
def least_time(parts):
    """One part may compute while another reads, but neither kind of work shrinks."""
    return max(sum(part[kind] for part in parts) for kind in ("arithmetic", "memory"))


CHECKS = [
    OracleCheck("cost: all", costs, shapes, ("2 * squareBytes(shape)", "squareBytes(shape)"), rel_tol=REL_TOL),
    OracleCheck("cost: attainable", per_case(cost.attainable),
        lambda: [[10**x, 10**y, 1e12] for x in range(-3, 7) for y in (9, 13, 16)], ("Math.min(peak", "Math.max(peak")),
    OracleCheck("cost: chip", per_case(chip), lambda: [[name] for name in PEAK], ("memory: 141e9", "memory: 143e9"), rel_tol=REL_TOL),
    OracleCheck("units: printed", per_case(lambda *case: PRINTED[case]), lambda: [list(case) for case in PRINTED],
        ("scaled(bytes, 1024", "scaled(bytes, 1000")),
    OracleCheck("balloon: held", bytes_held, memories, ("> memory", ">= memory"), rel_tol=REL_TOL),
    OracleCheck("hbm_trips: by kernel", traffic, lambda: [[form, shape] for (shape,) in shapes() for form in FORMS],
        ("read.map(trip(kernel, true))", "read.map(trip(kernel, false))"), rel_tol=REL_TOL),
    OracleCheck("roofline: place", roofline_point, kernels, ("flops / bytes", "bytes / flops"), rel_tol=REL_TOL),
    OracleCheck("roofline: examples", roofline_examples, lambda: [[]], ("5 * n * n", "4 * n * n"), rel_tol=1e-6),
    OracleCheck("calculator: work", work, models, ("row(heads) + row(kvHeads)", "row(heads) + row(heads)"), rel_tol=REL_TOL),
    OracleCheck("calculator: memory", memory_use, models, ("free / (token * batch)", "free / token"), rel_tol=1e-9),
    OracleCheck("calculator: limit", limit,
        lambda: [[10**x, 10**y, many] for x in range(6, 19) for y in range(3, 15) for many in (1, 16)],
        ("flops / (peak * chips)", "flops / (bandwidth * chips)"), rel_tol=REL_TOL),
    OracleCheck("calculator: leastTime", least_time,
        lambda: [[[{"arithmetic": 3.0, "memory": more}, {"arithmetic": 1.0, "memory": 2.5}]] for more in (1.0, 2.0)],
        ("sum + each.memory", "sum + each.arithmetic")),
    OracleCheck("calculator: ring", ring_times, lambda: [[model, 1 + n % 2**13, *more] for model, n, *more in models()],
        ("...part, heads: kvHeads", "...part, heads"), rel_tol=1e-9),
]  # fmt: skip
