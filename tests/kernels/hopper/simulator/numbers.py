"""What a kernel computes with: whole numbers and blocks, as Triton has them."""

from collections.abc import Callable
from types import SimpleNamespace

import torch


class Scalar(int):
    """A whole number of a kernel, or a condition: it has a type to be changed, and is divided towards 0."""

    def to(self, dtype) -> "Scalar":
        return self

    def __floordiv__(self, other):
        return floor_divide(self, other)

    def __rfloordiv__(self, other):
        return floor_divide(other, self)

    def __mod__(self, other):
        return self - floor_divide(self, other) * other

    def __rmod__(self, other):
        return other - floor_divide(other, self) * self


def floor_divide(x: int, y: int) -> Scalar:
    quotient = abs(x) // abs(y)
    return Scalar(quotient if (x < 0) == (y < 0) else -quotient)


def _scalar(operation: Callable) -> Callable:
    def scalar_operation(*operands):
        result = operation(*operands)
        return result if result is NotImplemented else Scalar(result)

    return scalar_operation


for _name in ("add", "sub", "mul", "and", "or", "xor", "lshift", "rshift"):
    for _operation in (f"__{_name}__", f"__r{_name}__"):
        setattr(Scalar, _operation, _scalar(getattr(int, _operation)))
for _operation in ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__", "__neg__"):
    setattr(Scalar, _operation, _scalar(getattr(int, _operation)))


class Block(torch.Tensor):
    """A block of numbers of a kernel: it has a type with a layout, and bits."""

    @property
    def type(self):
        return SimpleNamespace(layout=None)

    def to(self, dtype, bitcast=False):
        return self.view(dtype) if bitcast else super().to(dtype)


def block(x) -> Block:
    return torch.as_tensor(x).as_subclass(Block)


def scalars(*arguments):
    """As ``range`` has them."""
    return (Scalar(i) for i in range(*arguments))


def where(condition, x, y):
    if isinstance(condition, torch.Tensor):
        return torch.where(condition, x, y)
    return x if condition else y


def minimum(x, y):
    return torch.minimum(x, y) if isinstance(x, torch.Tensor) else Scalar(min(x, y))


def maximum(x, y):
    """As the GPU's instruction has it: NaN counts for nothing."""
    return torch.fmax(x, block(y))
