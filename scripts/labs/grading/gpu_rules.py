"""What a GPU would refuse or round although Triton's interpreter accepts it: the grader finds it by these rules."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np


class RefusedByGrader(Exception):
    """What Triton's compiler would refuse, or what never ends; the message says why, and what to do."""


ROW_AS_CONDITION = (
    "a row of {} numbers stands as a condition, and no single yes or no: a GPU refuses that. Choose number by "
    "number, with tl.where(condition, a, b)"
)
DOT_ROUNDS = (
    'on a GPU, tl.dot rounds FP32 numbers to TF32, which keeps three digits: give it input_precision="ieee". '
    "The interpreter does not round, so it shows there alone"
)
SUM_ROUNDS = (
    "on a GPU, Triton makes a tl.dot of the sum of x[:, :, None] * y[None, :, :], which rounds FP32 numbers to TF32: "
    'three digits. Write tl.dot(x, y, input_precision="ieee") yourself. The interpreter does not round, so '
    "it shows there alone"
)
MIN_ROWS = 16  # rows of x, and columns of y: of smaller ones Triton leaves the sum as it is


def fill_masked(arguments: tuple) -> tuple[tuple, bool]:
    """The arguments of a masked load, with NaN for ``other`` if there is none, and whether something was filled in."""
    pointers, mask, other = arguments[:3]
    dtype = float_dtype(pointers)
    if other is not None or dtype is None or np.asarray(mask.data, dtype=bool).all():
        return arguments, False
    nan = type(pointers)(np.full_like(pointers.data, np.nan, dtype=dtype), pointers.get_element_ty())
    return (*arguments[:2], nan, *arguments[3:]), True


def float_dtype(pointers) -> np.dtype | None:
    """What numpy calls the numbers that are pointed to, if NaN is one of them and the interpreter computes with it."""
    name = str(pointers.get_element_ty())
    return {"fp16": np.dtype("float16"), "fp32": np.dtype("float32"), "fp64": np.dtype("float64")}.get(name)


def no_rows_as_conditions(patch: Callable) -> Callable:
    """The interpreter's patch of tensors, after which one that has several numbers is no condition of the reader's.

    A single number counts as one in ``range``, too: Triton 3.6.0 leaves that to NumPy, which since 2.4 refuses [1].
    """

    def patched(tensor, *scope):
        patch(tensor, *scope)
        set_attribute = scope[0].set_attr if scope else setattr
        set_attribute(tensor, "__bool__", as_condition)
        set_attribute(tensor, "__index__", lambda tensor: int(np.asarray(tensor.handle.data).squeeze()))

    return patched


def as_condition(tensor) -> bool:
    """Whether a tensor counts as true.  Triton itself asks by this whether there is a tensor at all."""
    caller, data = sys._getframe(1).f_code, tensor.handle.data
    if "triton" in caller.co_filename.replace("\\", "/").split("/"):
        return True if caller.co_name == "_load_legacy" or data.size != 1 else bool(data)
    if data.size != 1:
        raise RefusedByGrader(ROW_AS_CONDITION.format(data.size))
    return bool(data)


def trace_products(builder: type) -> dict[str, Callable]:
    """Operations of the interpreter that note on what they make how far it is on the way to a sum of products of tiles.

    Such a sum, over tiles in FP32 that are spread by [:, :, None] on the left and by [None, :, :] on the right, is what
    Triton's compiler turns into a dot (seen in 3.6.0 and 3.7.1, in the IR for sm_90), and says nothing of it.
    """
    expand, broadcast, multiply = builder.create_expand_dims, builder.create_broadcast, builder.create_fmul

    def traced_expand(self, tile, axis):
        result = expand(self, tile, axis)
        result.expanded = axis if tile.data.ndim == 2 else None
        return result

    def traced_broadcast(self, tile, shape):
        result = broadcast(self, tile, shape)
        result.spread = getattr(tile, "expanded", None)
        return result

    def traced_multiply(self, left, right):
        result = multiply(self, left, right)
        axes = getattr(left, "spread", None), getattr(right, "spread", None)
        is_large = (
            result.data.dtype == np.float32
            and min(result.data.shape[:1] + result.data.shape[-1:], default=0) >= MIN_ROWS
        )
        result.products = axes == (2, 0) and is_large
        return result

    return {"create_expand_dims": traced_expand, "create_broadcast": traced_broadcast, "create_fmul": traced_multiply}


def rounds_to_tf32(arguments: tuple) -> bool:
    """Whether a tl.dot of these operands would round them to TF32 on a GPU."""
    a, b, _, precision = arguments[:4]
    is_fp32 = all(each.data.dtype == np.float32 for each in (a, b))
    return is_fp32 and "IEEE" not in str(precision).upper() and "X3" not in str(precision).upper()
