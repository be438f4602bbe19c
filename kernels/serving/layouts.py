"""From bytes to operands of the tensor cores: what a lane reads, it multiplies.

Rows of a cache are in 16 bits, in FP8 or in NVFP4; tensor cores of a Hopper GPU want their
numbers in 16 bits, each in a certain register of a certain lane.  Where numbers are widened in
one layout and multiplied in another, the way from one to the other leads through shared memory.
Here every layout is written down, in Gluon, and chosen so that nothing moves.

    tensor core, 16 x 8 x 16     lane 4g + t holds, of the left operand, rows g and g + 8, and
                                 of each the places 2t, 2t + 1, 2t + 8 and 2t + 9
    scores = keys · queryᵀ       keys are the left operand: rows are keys, places are dimensions
    outputᵀ = valuesᵀ · weights  values are the left operand: rows are dimensions, places are
                                 keys

A sum does not care about the order of its terms.  So lane t may take any dimensions of a key,
if the query is read in the same order, and lane g any dimensions of a value, if the output is
written in that order: each takes up to 16 bytes side by side.

A word is 32 bits: 2, 4 or 8 numbers.  ``widen`` takes two words, of neighbouring places, and
makes pairs in 16 bits, the number i of both words in one register: as the tensor cores want
them.  FP4 becomes FP16 by moving bits, since Hopper has no instruction for it.

``kernels.serving.decode_hopper`` is the kernel that reads and multiplies them.

Layouts of mma.m16n8k16: NVIDIA PTX ISA, "Matrix Fragments for mma.m16n8k16".
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

# Layouts.  A linear layout says what each bit of a register's number, a lane's and a warp's
# adds to the place [row, word].  Rows are keys, BN of them a warp.


@gluon.constexpr_function
def words_of(format, head_dim):
    """How many 32-bit words a row of the cache has."""
    return head_dim // {"nvfp4": 8, "fp8": 4}.get(format, 2)


@gluon.constexpr_function
def log2(n):
    return n.bit_length() - 1


@gluon.constexpr_function
def bits(first, end, axis):
    """One basis for each power of two from ``first`` to below ``end``, along one axis."""
    return [[0, 1 << i] if axis else [1 << i, 0] for i in range(log2(first), log2(end))]


@gluon.constexpr_function
def of_warps(registers, lanes, BN, WARPS, words):
    warps = bits(BN, BN * WARPS, 0)
    return gl.DistributedLinearLayout(registers, lanes, warps, [], [WARPS * BN, words])


@gluon.constexpr_function
def product_layout(WARPS):
    """The products of tensor cores, [WARPS, rows, columns]: each warp has one of its own."""
    return gl.NVMMADistributedLayout(
        version=[2, 0], warps_per_cta=[WARPS, 1, 1], instr_shape=[1, 16, 8]
    )


@gluon.constexpr_function
def key_vector(words):
    """How many words side by side a lane takes of a key: lanes t = 0 to 3 share its row."""
    return min(4, words // 4)


@gluon.constexpr_function
def key_layout(BN, WARPS, words):
    v = key_vector(words)
    registers = bits(1, v, 1) + bits(4 * v, words, 1) + bits(8, BN, 0)
    return of_warps(registers, bits(v, 4 * v, 1) + bits(1, 8, 0), BN, WARPS, words)


@gluon.constexpr_function
def value_vector(words):
    """How many words side by side a lane takes of a value: lanes g = 0 to 7 share its row."""
    return min(4, words // 8)


@gluon.constexpr_function
def value_layout(BN, WARPS, words):
    v = value_vector(words)
    registers = bits(1, v, 1) + bits(1, 2, 0) + bits(8 * v, words, 1) + bits(8, BN, 0)
    return of_warps(registers, bits(2, 8, 0) + bits(v, 8 * v, 1), BN, WARPS, words)


@gluon.constexpr_function
def pair_layout(BN, WARPS, words):
    """``value_layout`` with the words of keys 2t and 2t + 1 side by side, for ``widen``."""
    v = value_vector(words)
    registers = bits(1, 2, 0) + bits(1, v, 1) + bits(8 * v, words, 1) + bits(8, BN, 0)
    return of_warps(registers, bits(2, 8, 0) + bits(v, 8 * v, 1), BN, WARPS, words)


@gluon.constexpr_function
def lined(layout, line):
    """A layout of [rows, words] as one of lines, which are rows or parts of rows."""
    rows, words = layout.shape
    parts = words // line

    def moved(bases):
        return [[row * parts + word // line, word % line] for row, word in bases]

    return gl.DistributedLinearLayout(
        moved(layout.reg_bases), moved(layout.lane_bases), moved(layout.warp_bases),
        [], [rows * parts, line],
    )  # fmt: skip


@gluon.constexpr_function
def halved(layout):
    """Where the block scales are that belong to a layout of words: one for two words."""

    def half(bases):
        return [[row, word // 2] for row, word in bases]

    registers = half([base for base in layout.reg_bases if base != [0, 1]])
    lanes, warps = half(layout.lane_bases), half(layout.warp_bases)
    rows, words = layout.shape
    return gl.DistributedLinearLayout(registers, lanes, warps, [], [rows, words // 2])


# Two words to pairs in 16 bits.  prmt picks bytes: 0x5140 takes byte 0 of both words, then
# byte 1 of both; 0x7362 bytes 2 and 3.
#
# FP4: of four bytes, each two codes, the low codes and the high codes become four bytes
# s000eem0 each: the upper halves of FP16 numbers that are 2^-14 of what the code means.  The
# last step sets each into its half of a register and multiplies by the block scale.
WIDEN_FP4 = gl.constexpr(
    "{ .reg .b32 x, low, high, t;\n"
    + "".join(
        f"""prmt.b32 x, $8, $9, {pick};
        shl.b32 low, x, 4; and.b32 low, low, 0x80808080;
        shl.b32 t, x, 1; lop3.b32 low, t, 0x0E0E0E0E, low, 0xEA;
        and.b32 high, x, 0x80808080;
        shr.b32 t, x, 3; lop3.b32 high, t, 0x0E0E0E0E, high, 0xEA;
        prmt.b32 t, low, 0, 0x1404; mul.f16x2 ${i}, t, $10;
        prmt.b32 t, high, 0, 0x1404; mul.f16x2 ${i + 1}, t, $10;
        prmt.b32 t, low, 0, 0x3424; mul.f16x2 ${i + 2}, t, $10;
        prmt.b32 t, high, 0, 0x3424; mul.f16x2 ${i + 3}, t, $10;
        """
        for i, pick in ((0, "0x5140"), (4, "0x7362"))
    )
    + "}"
)


WIDEN_FP8 = gl.constexpr("""{ .reg .b32 x; .reg .b16 a, b;
    prmt.b32 x, $4, $5, 0x5140; mov.b32 {a, b}, x;
    cvt.rn.f16x2.e4m3x2 $0, a; cvt.rn.f16x2.e4m3x2 $1, b;
    prmt.b32 x, $4, $5, 0x7362; mov.b32 {a, b}, x;
    cvt.rn.f16x2.e4m3x2 $2, a; cvt.rn.f16x2.e4m3x2 $3, b; }""")


WIDEN_16 = gl.constexpr("prmt.b32 $0, $2, $3, 0x5410; prmt.b32 $1, $2, $3, 0x7632;")


FP4_UNIT = gl.constexpr(2.0**7)  # by how much too small widened FP4 is: 2^-14 · 2^7


@gluon.jit
def widen(words, scales, FORMAT: gl.constexpr):
    """The numbers of each word in 16 bits, in order: [..., 2], [..., 2, 2] or [..., 2, 2, 2].

    scales: FP16, 2^7 times the block scale of each word, for NVFP4
    """
    if FORMAT == "nvfp4":
        a, b, c, d, e, f, g, h = gl.inline_asm_elementwise(
            WIDEN_FP4, "=&r,=&r,=&r,=&r,=&r,=&r,=&r,=&r,r,r,r", [words, scales],
            dtype=(gl.float16,) * 8, is_pure=True, pack=2,
        )  # fmt: skip
        # Numbers 0, 4, 2, 6 and 1, 5, 3, 7: each join adds an axis of two, the last one last.
        return gl.join(
            gl.join(gl.join(a, e), gl.join(c, g)), gl.join(gl.join(b, f), gl.join(d, h))
        )
    elif FORMAT == "fp8":
        a, b, c, d = gl.inline_asm_elementwise(
            WIDEN_FP8, "=&r,=&r,=&r,=&r,r,r", [words],
            dtype=(gl.float16,) * 4, is_pure=True, pack=2,
        )  # fmt: skip
        return gl.join(gl.join(a, c), gl.join(b, d))
    else:
        dtype = gl.bfloat16 if FORMAT == "bf16" else gl.float16
        a, b = gl.inline_asm_elementwise(
            WIDEN_16, "=&r,=&r,r,r", [words], dtype=(dtype, dtype), is_pure=True, pack=2
        )
        return gl.join(a, b)


@gluon.jit
def scales_of_words(codes, layout: gl.constexpr):
    """E4M3 block scales in FP16, times 2^7, one for each of two words."""
    scales = codes.to(gl.float8e4nv, bitcast=True).to(gl.float16) * 128.0
    rows: gl.constexpr = scales.shape[0]
    words: gl.constexpr = 2 * scales.shape[1]
    return gl.convert_layout(gl.join(scales, scales).reshape([rows, words]), layout)


# Tiles as operands, whose first axis is the warp, and the order that query and output have.


@gluon.jit
def key_operand(
    words, scales, BN: gl.constexpr, HEAD_DIM: gl.constexpr, LEFT: gl.constexpr,
    FORMAT: gl.constexpr,
):  # fmt: skip
    """A tile of keys, [WARPS, BN, HEAD_DIM], in 16 bits, from its words in ``key_layout``.

    scales: of each word, as ``widen`` wants them   LEFT: the layout of left operands
    """
    WARPS: gl.constexpr = words.shape[0] // BN
    WORDS: gl.constexpr = words.shape[1]
    V: gl.constexpr = key_vector(WORDS)
    # [warp, key, word: run, t, half, pair, number] to [warp, key, dimension in lane order]
    keys = widen(words, scales, FORMAT).reshape(
        [WARPS, BN, WORDS // (4 * V), 4, V // 2, 2, HEAD_DIM // WORDS]
    )
    keys = keys.permute([0, 1, 6, 2, 4, 3, 5]).reshape([WARPS, BN, HEAD_DIM])
    return gl.convert_layout(keys, LEFT, assert_trivial=True)


@gluon.jit
def query_dimension(place, HEAD_DIM: gl.constexpr, WORDS: gl.constexpr):
    """Which dimension stands at each place of a key, as ``key_operand`` orders them."""
    V: gl.constexpr = key_vector(WORDS)
    word = place % WORDS // (4 * V) * (4 * V)
    word += place % 8 // 2 * V + place // 8 % (V // 2) * 2 + place % 2
    return word * (HEAD_DIM // WORDS) + place // WORDS


@gluon.jit
def value_operand(
    words, scales, BN: gl.constexpr, HEAD_DIM: gl.constexpr, LEFT: gl.constexpr,
    FORMAT: gl.constexpr,
):  # fmt: skip
    """A tile of values, [WARPS, HEAD_DIM, BN], in 16 bits, from its words in ``pair_layout``.

    The rest as in ``key_operand``; the order of dimensions is undone by ``in_order``.
    """
    WARPS: gl.constexpr = words.shape[0] // BN
    WORDS: gl.constexpr = words.shape[1]
    V: gl.constexpr = value_vector(WORDS)
    # Pairs of neighbouring keys go last, for widen takes two neighbours.
    pairs = words.reshape([WARPS * BN // 2, 2, WORDS]).permute([0, 2, 1])
    if FORMAT == "nvfp4":
        scales = scales.reshape([WARPS * BN // 2, 2, WORDS]).permute([0, 2, 1])
    # [warp, two keys, word: run, g, place, which key, number] to [warp, dimension, key]
    values = widen(pairs, scales, FORMAT).reshape(
        [WARPS, BN // 2, WORDS // (8 * V), 8, V, 2, HEAD_DIM // WORDS]
    )
    values = values.permute([0, 6, 2, 4, 3, 1, 5]).reshape([WARPS, HEAD_DIM, BN])
    return gl.convert_layout(values, LEFT, assert_trivial=True)


@gluon.jit
def in_order(output, WORDS: gl.constexpr):
    """The output as [ROWS, HEAD_DIM], its dimensions in the order that the cache has."""
    HEAD_DIM: gl.constexpr = output.shape[0]
    ROWS: gl.constexpr = output.shape[1]
    V: gl.constexpr = value_vector(WORDS)
    output = output.reshape([HEAD_DIM // WORDS, WORDS // (8 * V), V, 8, ROWS])
    output = output.permute([4, 1, 3, 2, 0]).reshape([ROWS, HEAD_DIM])
    return gl.convert_layout(
        output, gl.BlockedLayout([1, 4], [1, 32], [gl.num_warps(), 1], [1, 0])
    )
