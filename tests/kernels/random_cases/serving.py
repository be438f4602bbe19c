"""Random cases of the paged cache: decode in every format, and append."""

import math
from collections.abc import Callable
from copy import copy
from functools import partial
from random import Random

import torch
from torch import Tensor

from kernels.checks import is_hopper
from kernels.formats.block import FP8, NVFP4, Quantized, dequantize, quantize
from kernels.serving.cache import KVCache
from kernels.serving.decode import decode_attention
from tests.kernels.error_budget import attention_budget_used
from tests.kernels.prefilled import prefilled_with_nan
from tests.kernels.random_cases.lse import lse_used
from tests.kernels.random_cases.rounds import (
    DEVICE,
    DTYPES,
    LARGEST,
    LONGEST,
    Form,
    as_many_as_fit,
    catalogue,
    normal,
    sizes,
    split,
)

SCHEMES = {"fp8": FP8, "nvfp4": NVFP4}
QUERIES = {"fp16": torch.float16, "bf16": torch.bfloat16}


def draw(rng: Random, entry: dict) -> dict:
    """Sequences, heads, the longest length, and scales: that of values a power of two, so that it rounds nothing."""
    longest = rng.choice([20, 70, 70, 200, LONGEST])
    quantised = entry["format"] in SCHEMES
    settings = {
        **entry,
        "batch": rng.randint(entry["batch"] // 2 + 1, entry["batch"]),
        "kv_heads": rng.choice([1, 1, 2, 3]),
        "group": rng.choice([1, 2, 3, 4, 8]),
        "new": rng.choice([1, 1, 1, 2, 3]),
        "longest": rng.randint(1, min(longest, LONGEST)),
        "scale": None if rng.random() < 0.6 else round(rng.uniform(-1, 1), 3),
        "key_scale": round(10 ** rng.uniform(-2.5, 0), 4) if quantised else 1.0,
        "value_scale": 2.0 ** rng.randint(-4, 2) if quantised else 1.0,
        "unused": rng.choice([0xFF, 0x7F]),
        "pages_seed": rng.randrange(2**31),
    }
    rows = settings["batch"] * settings["new"] * settings["kv_heads"] * settings["group"]
    while rows * settings["longest"] ** 2 > LARGEST:
        settings["longest"] //= 2
    return settings | {"cases": as_many_as_fit(rows * settings["longest"] ** 2)}


def inputs(settings: dict, generator: torch.Generator) -> list[Tensor]:
    """Queries, rows of keys and of values, and how many of them each sequence has."""
    cases, batch, new, heads = (settings[name] for name in ("cases", "batch", "new", "kv_heads"))
    each, longest, head_dim = cases * batch, settings["longest"], settings["head_dim"]
    q = normal(generator, each, heads * settings["group"], new, head_dim) * sizes(generator, each, 0.1, 3)
    # NVFP4 and FP8 reach 2688 and 448 times the scale; about a hundredth is clipped.
    k = normal(generator, each, heads, longest, head_dim)
    v = normal(generator, each, heads, longest, head_dim) + normal(generator, each, heads, 1, 1)
    v = v * sizes(generator, each, 0.01, 10)
    lengths = torch.randint(0, longest + 1, (each,), generator=generator, device=DEVICE)
    return [q.to(QUERIES[settings["query"]]), k, v, lengths]


def store(rows: Tensor, format: str, scale: float) -> tuple[Tensor, Tensor | None]:
    """Rows as the specification stores them: numbers or codes, and block scales."""
    if format not in SCHEMES:
        return rows.to(QUERIES[format]), None
    made = quantize(rows, SCHEMES[format], tensor_scale=scale)
    return made.codes, made.scales


def taken_as(stored: Tensor, block_scales: Tensor | None, format: str, shape: tuple) -> Tensor:
    """What stored rows stand for, but for the tensor's scale: 16 bits hold it exactly."""
    if format not in SCHEMES:
        return stored
    one = torch.ones((), device=stored.device)
    return dequantize(Quantized(stored, block_scales, one, SCHEMES[format], shape))


class Pool:
    """The pages of all cases of a round in one memory, in random order, and a cache of each case over it.

    What is not written is one byte everywhere, which is NaN in most formats.
    """

    def __init__(self, settings: dict, room: Tensor):
        """room: how many rows each sequence needs pages for, [sequences], on the CPU"""
        self.settings = settings
        size = settings["page_size"]
        needed = -(-room // size)
        generator = torch.Generator().manual_seed(settings["pages_seed"])
        pages = torch.randperm(int(needed.sum()) + 1, generator=generator)
        place = torch.arange(int(needed.max()) + 1)
        number = needed.cumsum(0)[:, None] - needed[:, None] + place
        table = torch.where(place < needed[:, None], pages[number.clamp(max=len(pages) - 1)], -1)
        self.cache = KVCache(
            table, format=settings["format"], page_size=size, device=DEVICE, pages=len(pages),
            kv_heads=settings["kv_heads"], head_dim=settings["head_dim"],
            key_scale=settings["key_scale"], value_scale=settings["value_scale"],
        )  # fmt: skip
        for x in self.paged():
            x.view(torch.uint8).fill_(settings["unused"])

    def paged(self) -> list[Tensor]:
        cache = self.cache
        tensors = (cache.keys, cache.values, cache.key_block_scales, cache.value_block_scales)
        return [x for x in tensors if x is not None]

    def write(self, k: Tensor, v: Tensor, first: Tensor, count: Tensor) -> None:
        """Rows 0 to count - 1 of each sequence, [sequences, kv_heads, rows, head_dim], to its places from ``first``."""
        cache, size = self.cache, self.cache.page_size
        row = torch.arange(k.shape[2], device=DEVICE)
        sequence, row = (row < count[:, None]).nonzero(as_tuple=True)
        place = first[sequence] + row
        page = cache.page_table[sequence, place // size].long()
        of_keys = store(k, cache.format, cache.key_scale)
        of_values = store(v, cache.format, cache.value_scale)
        for stored, paged in (
            (of_keys[0], cache.keys), (of_values[0], cache.values),
            (of_keys[1], cache.key_block_scales), (of_values[1], cache.value_block_scales),
        ):  # fmt: skip
            if paged is not None:
                paged[page, :, place % size] = stored[sequence, :, row]

    def case(self, number: int, lengths: Tensor, host_lengths: list[int]) -> KVCache:
        """The cache of one case, whose sequences have these lengths."""
        batch = self.settings["batch"]
        own_sequences = slice(number * batch, (number + 1) * batch)
        cache = copy(self.cache)
        cache.page_table = cache.page_table[own_sequences].clone()  # begins aligned, as a cache's own does
        cache.host_pages = cache.host_pages[own_sequences]
        cache.lengths, cache.host_lengths = lengths[own_sequences].int(), host_lengths[own_sequences]
        return cache


# Decode.


def decoded(kernel: Callable, settings: dict, tensors: list[Tensor]) -> list[Tensor]:
    """The output and the lse of each case, stacked."""
    q, k, v, lengths = tensors
    on_host = lengths.cpu()
    pool = Pool(settings, on_host)
    pool.write(k, v, torch.zeros_like(lengths), lengths)
    options = {} if settings["scale"] is None else {"scale": settings["scale"]}
    caches = [pool.case(number, lengths, on_host.tolist()) for number in range(settings["cases"])]
    with prefilled_with_nan():
        pairs = zip(split(q, settings["cases"]), caches, strict=True)
        results = [kernel(each, cache, return_lse=True, **options) for each, cache in pairs]
    return [torch.cat(each) for each in zip(*results, strict=True)]


def decoded_used(settings: dict, tensors: list[Tensor], results: list[Tensor]) -> float:
    """The larger share of the budget, of the output's or of the lse's.

    Each new token is a sequence of its own, of the keys that it sees, so that the masks are lengths.  Keys and values
    are what is stored, without the tensor's scale: that of keys is in the scale of scores, and the output is divided
    by that of values.
    """
    q, k, v, lengths = tensors
    (out, lse), new, format = results, settings["new"], settings["format"]

    def rows(x: Tensor) -> Tensor:
        """[sequences, heads, new, ...] as [sequences · new, kv_heads, group, ...]: what shares a head of keys."""
        return x.transpose(1, 2).flatten(0, 1).unflatten(1, (-1, settings["group"]))

    k, v = (
        taken_as(*store(x, format, settings[scale]), format, x.shape).to(q.dtype).repeat_interleave(new, 0)
        for x, scale in ((k, "key_scale"), (v, "value_scale"))
    )
    token = torch.arange(new, device=DEVICE)
    seen = (lengths[:, None] - new + 1 + token).clamp(min=0).flatten()
    scale = settings["head_dim"] ** -0.5 if settings["scale"] is None else settings["scale"]
    key_scale = torch.tensor(settings["key_scale"]).item()  # FP32's number
    options = {"scale": scale * key_scale, "key_lengths": seen}
    unscaled = rows(out / settings["value_scale"])
    rounded = q.dtype if format in QUERIES else torch.float16  # in which the kernels multiply eight bits and four
    return max(
        attention_budget_used(lambda *_, **__: unscaled, rows(q), k, v, rounded=rounded, **options),
        lse_used(rows(lse), rows(q), k, **options),
    )


# Append.


def rows_to_append(settings: dict, generator: torch.Generator) -> list[Tensor]:
    """Rows of keys and of values, and how many tokens each sequence already has."""
    shape = settings["cases"] * settings["batch"], settings["kv_heads"], settings["rows"], settings["head_dim"]
    k, v = (normal(generator, *shape) * sizes(generator, shape[0], 1e-3, 30) for _ in range(2))
    lengths = torch.randint(0, settings["longest"] + 1, shape[:1], generator=generator, device=DEVICE)
    return [k.to(getattr(torch, settings["dtype"])), v.to(getattr(torch, settings["dtype"])), lengths]


def draw_append(rng: Random, entry: dict) -> dict:
    settings = draw(rng, entry)
    return settings | {"rows": rng.randint(entry["rows"] // 2 + 1, entry["rows"])}


def appended(kernel: Callable, settings: dict, tensors: list[Tensor]) -> list[Tensor]:
    """What the pages of each case hold after the call, and the lengths, stacked."""
    k, v, lengths = tensors
    on_host = lengths.cpu()
    pool = Pool(settings, on_host + settings["rows"])
    if settings["transposed"]:
        k, v = (x.permute(2, 0, 1, 3).contiguous().permute(1, 2, 0, 3) for x in (k, v))
    after = []
    for number, (keys, values) in enumerate(zip(*(split(x, settings["cases"]) for x in (k, v)), strict=True)):
        cache = pool.case(number, lengths, on_host.tolist())
        if settings["backwards"]:
            order = list(reversed(range(settings["batch"])))
            kernel(cache, keys[order], values[order], order)
        else:
            kernel(cache, keys, values)
        after.append(cache.lengths[:, None])
    return [*contents(pool), torch.cat(after)]


def contents(pool: Pool) -> list[Tensor]:
    """The bytes of each sequence's pages, [sequences, pages, bytes]; where it has none, zeros."""
    table = pool.cache.page_table.long()
    none = (table < 0)[..., None]
    return [x.view(torch.uint8).flatten(1)[table.clamp(min=0)].masked_fill(none, 0) for x in pool.paged()]


def appended_used(settings: dict, tensors: list[Tensor], results: list[Tensor]) -> float:
    """0 where every byte of the pages is as in the specification and lengths have grown, else inf.

    Judged by itself, a case has pages in another order, which its bytes do not show.
    """
    k, v, lengths = tensors
    pool = Pool(settings, lengths.cpu() + settings["rows"])
    pool.write(k, v, lengths, torch.full_like(lengths, settings["rows"]))
    right = [*contents(pool), (lengths + settings["rows"]).int()[:, None]]
    alike = [(a[:, : b.shape[1]] == b).all() for a, b in zip(results, right, strict=True)]
    return 0.0 if torch.stack(alike).all() else math.inf


def forms() -> list[Form]:
    formats = {"16 bits": ["fp16", "bf16"], "FP8": ["fp8"], "NVFP4": ["nvfp4"]}
    if DEVICE.type == "cpu":
        formats["16 bits"] = ["fp16"]  # the interpreter gets BF16 wrong
    queries = list(QUERIES)[: len(DTYPES) - 1]
    shared = {"page_size": [16, 64, 32], "batch": [1, 4, 8]}
    found = []
    for name, stored in formats.items():
        entries = catalogue(
            f"decode {name}", 15, format=stored, query=queries, head_dim=[16, 64, 80, 128, 256], **shared
        )
        of_hopper = catalogue(f"Hopper {name}", 12, format=stored, query=queries, head_dim=[64, 128, 256], **shared)
        kinds = [("portable", partial(decode_attention, portable=True), entries)]
        if DEVICE.type == "cuda" and is_hopper(DEVICE):
            # Smaller pages of block scales are for the portable kernel.
            of_hopper = [each for each in of_hopper if each["page_size"] * each["head_dim"] >= 2048]
            kinds.append(("Hopper", decode_attention, of_hopper))
        for kind, kernel, kernels in kinds:
            kernels = [fitting(entry) for entry in kernels]
            found.append(
                Form(f"decode_attention, {name}, {kind}", kernel, kernels, draw, inputs, decoded, decoded_used)
            )
    into = {"format": [x for each in formats.values() for x in each], "query": ["fp16"], "dtype": DTYPES}
    into |= {"head_dim": [16, 64, 80, 128], "rows": [1, 2, 8, 40], "transposed": [False, True]}
    entries = catalogue("append", 24, **into, **shared, backwards=[False, False, True])
    found.append(Form("KVCache.append", KVCache.append, entries, draw_append, rows_to_append, appended, appended_used))
    return found


def fitting(entry: dict) -> dict:
    """Queries of a 16-bit cache have its type."""
    return entry | {"query": entry["format"]} if entry["format"] in QUERIES else entry
