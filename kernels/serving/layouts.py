"""Turns bytes into operands of the tensor cores, so that a lane multiplies what it has read.

A cache has rows in 16 bits, in FP8 or in NVFP4.  The tensor cores of a Hopper GPU need their
numbers in 16 bits, each in a certain register of a certain lane.  If we widened numbers in one
layout and multiplied in another, they would have to pass through shared memory in between.
Here we choose every layout ourselves, in Gluon, so that nothing moves.

    tensor core, 16 x 8 x 16     lane 4g + t holds rows g and g + 8 of the left operand, and of
                                 each row the places 2t, 2t + 1, 2t + 8 and 2t + 9
    scores = keys · queryᵀ       keys are the left operand: rows are keys, places are dimensions
    outputᵀ = valuesᵀ · weights  values are the left operand: rows are dimensions, places are
                                 keys

The order of its terms doesn't change a sum.  So lane t may take any dimensions of a key if we
read the query in the same order, and lane g any dimensions of a value if we write the output in
that order.  Each takes up to 16 contiguous bytes.

A word is 32 bits: 2, 4 or 8 numbers.  ``widen`` takes two words of neighbouring places and
makes pairs in 16 bits, with number i of both words in one register, which is where the tensor
cores need them.  FP4 becomes FP16 by moving bits, because Hopper has no instruction for it.

The kernel of ``kernels.serving.decode_hopper`` reads and multiplies them.

Layouts of mma.m16n8k16: NVIDIA PTX ISA, "Matrix Fragments for mma.m16n8k16".
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

# Layouts.  A linear layout has a basis for each bit of the numbers of register, lane and warp:
# what that bit adds to the place [row, word].  Rows are keys, and a warp has BN of them.


@gluon.constexpr_function
def words_per_row(format, head_dim):
    """Returns how many 32-bit words a row of the cache has."""
    return head_dim // {"nvfp4": 8, "fp8": 4}.get(format, 2)


@gluon.constexpr_function
def log2(n):
    return n.bit_length() - 1


@gluon.constexpr_function
def bases(first, end, axis):
    """Returns a basis for each power of two from ``first`` to below ``end``, along one axis."""
    return [[0, 1 << i] if axis else [1 << i, 0] for i in range(log2(first), log2(end))]


@gluon.constexpr_function
def per_warp_layout(registers, lanes, BN, WARPS, words):
    warps = bases(BN, BN * WARPS, 0)
    return gl.DistributedLinearLayout(registers, lanes, warps, [], [WARPS * BN, words])


@gluon.constexpr_function
def product_layout(WARPS):
    """Returns the layout of products, [WARPS, rows, columns]: each warp has one of its own."""
    return gl.NVMMADistributedLayout(
        version=[2, 0], warps_per_cta=[WARPS, 1, 1], instr_shape=[1, 16, 8]
    )


@gluon.constexpr_function
def key_vector(words):
    """Returns how many words in a row a lane takes of a key; lanes t = 0 to 3 share the key."""
    return min(4, words // 4)


@gluon.constexpr_function
def key_layout(BN, WARPS, words):
    v = key_vector(words)
    registers = bases(1, v, 1) + bases(4 * v, words, 1) + bases(8, BN, 0)
    return per_warp_layout(registers, bases(v, 4 * v, 1) + bases(1, 8, 0), BN, WARPS, words)


@gluon.constexpr_function
def value_vector(words):
    """Returns how many words in a row a lane takes of a value; lanes g = 0 to 7 share it."""
    return min(4, words // 8)


@gluon.constexpr_function
def value_layout(BN, WARPS, words):
    v = value_vector(words)
    registers = bases(1, v, 1) + bases(1, 2, 0) + bases(8 * v, words, 1) + bases(8, BN, 0)
    return per_warp_layout(registers, bases(2, 8, 0) + bases(v, 8 * v, 1), BN, WARPS, words)


@gluon.constexpr_function
def pair_layout(BN, WARPS, words):
    """Returns ``value_layout`` with the words of keys 2t and 2t + 1 adjacent, for ``widen``."""
    v = value_vector(words)
    registers = bases(1, 2, 0) + bases(1, v, 1) + bases(8 * v, words, 1) + bases(8, BN, 0)
    return per_warp_layout(registers, bases(2, 8, 0) + bases(v, 8 * v, 1), BN, WARPS, words)


@gluon.constexpr_function
def line_layout(layout, line):
    """Returns a layout of [rows, words] as one of lines, which are rows or parts of rows."""
    rows, words = layout.shape
    parts = words // line

    def to_lines(old_bases):
        return [[row * parts + word // line, word % line] for row, word in old_bases]

    return gl.DistributedLinearLayout(
        to_lines(layout.reg_bases), to_lines(layout.lane_bases), to_lines(layout.warp_bases),
        [], [rows * parts, line],
    )  # fmt: skip


@gluon.constexpr_function
def block_scale_layout(layout):
    """Returns the layout of the block scales for a layout of words: one scale for two words."""

    def halve(old_bases):
        return [[row, word // 2] for row, word in old_bases]

    registers = halve([base for base in layout.reg_bases if base != [0, 1]])
    lanes, warps = halve(layout.lane_bases), halve(layout.warp_bases)
    rows, words = layout.shape
    return gl.DistributedLinearLayout(registers, lanes, warps, [], [rows, words // 2])


# These turn two words into pairs in 16 bits.  prmt picks bytes: 0x5140 takes byte 0 of both
# words, then byte 1 of both; 0x7362 takes bytes 2 and 3.
#
# FP4: a byte has two codes.  The low codes of four bytes become four bytes s000eem0, and so do
# the high codes.  These are the upper halves of FP16 numbers that are 2^-14 times what the code
# means.  The last step puts each into its half of a register and multiplies by the block scale.
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


FP4_CORRECTION = gl.constexpr(2.0**7)  # widened FP4 is too small by this factor: 2^-14 · 2^7


@gluon.jit
def widen(words, scales, FORMAT: gl.constexpr):
    """Returns the numbers of each word in 16 bits: [..., 2], [..., 2, 2] or [..., 2, 2, 2].

    scales: for NVFP4, 2^7 times the block scale of each word, in FP16
    """
    if FORMAT == "nvfp4":
        a, b, c, d, e, f, g, h = gl.inline_asm_elementwise(
            WIDEN_FP4, "=&r,=&r,=&r,=&r,=&r,=&r,=&r,=&r,r,r,r", [words, scales],
            dtype=(gl.float16,) * 8, is_pure=True, pack=2,
        )  # fmt: skip
        # Each join adds an axis of two at the end: numbers 0, 4, 2, 6 and 1, 5, 3, 7.
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
def scale_per_word(codes, layout: gl.constexpr):
    """Returns E4M3 block scales in FP16, times 2^7, once for each of their two words."""
    scales = codes.to(gl.float8e4nv, bitcast=True).to(gl.float16) * 128.0
    rows: gl.constexpr = scales.shape[0]
    words: gl.constexpr = 2 * scales.shape[1]
    return gl.convert_layout(gl.join(scales, scales).reshape([rows, words]), layout)


# Tiles as operands, whose first axis is the warp, and the order of query and output.


@gluon.jit
def key_operand(
    words, scales, BN: gl.constexpr, HEAD_DIM: gl.constexpr, LEFT: gl.constexpr,
    FORMAT: gl.constexpr,
):  # fmt: skip
    """Returns a tile of keys in 16 bits, [WARPS, BN, HEAD_DIM].

    words: in ``key_layout``   scales: of each word, as ``widen`` takes them
    LEFT: the layout of left operands
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
    """Returns the dimension at each place of a key, as ``key_operand`` orders them."""
    V: gl.constexpr = key_vector(WORDS)
    word = place % WORDS // (4 * V) * (4 * V)
    word += place % 8 // 2 * V + place // 8 % (V // 2) * 2 + place % 2
    return word * (HEAD_DIM // WORDS) + place // WORDS


@gluon.jit
def value_operand(
    words, scales, BN: gl.constexpr, HEAD_DIM: gl.constexpr, LEFT: gl.constexpr,
    FORMAT: gl.constexpr,
):  # fmt: skip
    """Returns a tile of values in 16 bits, [WARPS, HEAD_DIM, BN].

    words: in ``pair_layout``   the rest: as in ``key_operand``
    ``reorder_output`` puts the dimensions of the output back in order.
    """
    WARPS: gl.constexpr = words.shape[0] // BN
    WORDS: gl.constexpr = words.shape[1]
    V: gl.constexpr = value_vector(WORDS)
    # Pairs of neighbouring keys go last, because widen takes two neighbours.
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
def reorder_output(output, WORDS: gl.constexpr):
    """Returns the output as [ROWS, HEAD_DIM], with its dimensions in the order of the cache."""
    HEAD_DIM: gl.constexpr = output.shape[0]
    ROWS: gl.constexpr = output.shape[1]
    V: gl.constexpr = value_vector(WORDS)
    output = output.reshape([HEAD_DIM // WORDS, WORDS // (8 * V), V, 8, ROWS])
    output = output.permute([4, 1, 3, 2, 0]).reshape([ROWS, HEAD_DIM])
    return gl.convert_layout(
        output, gl.BlockedLayout([1, 4], [1, 32], [gl.num_warps(), 1], [1, 0])
    )
