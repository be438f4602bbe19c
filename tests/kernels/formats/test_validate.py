"""Codes and scales that don't fit the shape are refused by name before a kernel reads beyond them."""

from dataclasses import replace

import pytest
import torch

from kernels.formats.block import FP8, FP8_BLOCKS, MXFP4, MXFP8, NVFP4, dequantize, quantize
from kernels.formats.block_triton import dequantize_blocks
from tests.kernels.formats.block_oracle import every_scheme

UNDO = pytest.mark.parametrize("undo", [dequantize, dequantize_blocks])


def quantized_randn(device, scheme, *shape):
    return quantize(torch.randn(*shape, device=device), scheme)


@UNDO
@pytest.mark.parametrize(
    "scheme, change, error, words",
    [
        (FP8, {"shape": (2, 34)}, ValueError, r"codes has shape \[2, 33\]: of \[2, 34\] in FP8 \[2, 34\] is wanted"),
        (FP8, {"shape": (3, 33)}, ValueError, r"codes has shape \[2, 33\]: of \[3, 33\]"),
        (FP8, {"shape": (2, 1, 33)}, ValueError, r"codes has shape \[2, 33\]: of \[2, 1, 33\]"),
        (FP8, {"shape": (2, 32)}, ValueError, r"codes has shape \[2, 33\]: of \[2, 32\]"),
        (FP8, {"shape": ()}, ValueError, "shape has 0 dimensions"),
        (NVFP4, {"shape": (2, 35)}, ValueError, r"codes has shape \[2, 17\]: of \[2, 35\] in NVFP4 \[2, 18\]"),
        (MXFP4, {"codes": slice(1)}, ValueError, r"codes has shape \[2, 1\]"),
        (FP8, {"codes": slice(1)}, ValueError, r"codes has shape \[2, 1\]"),
        (NVFP4, {"scales": slice(2)}, ValueError, r"scales has shape \[2, 2\]: .* \[2, 3\] is wanted"),
        (MXFP8, {"scales": slice(1)}, ValueError, r"scales has shape \[2, 1\]: .* \[2, 2\] is wanted"),
        (FP8_BLOCKS, {"scales": slice(0)}, ValueError, r"scales has shape \[2, 0\]: .* \[2, 1\] is wanted"),
        (NVFP4, {"tensor_scale": torch.ones(1)}, ValueError, r"tensor_scale has shape \[1\]: .* \[\] is wanted"),
        (FP8, {"codes": [0]}, TypeError, "codes is list, a tensor is wanted"),
        (FP8, {"codes": torch.zeros(2, 33)}, TypeError, r"codes is torch\.float32, torch\.uint8 is wanted"),
        (NVFP4, {"scales": None}, TypeError, "scales is NoneType"),
        (NVFP4, {"scales": torch.ones(2, 3)}, TypeError, r"scales is torch\.float32, torch\.uint8 is wanted"),
        (FP8_BLOCKS, {"scales": torch.ones(2, 1).byte()}, TypeError, r"scales is torch\.uint8, torch\.float32"),
        (FP8, {"tensor_scale": None}, TypeError, "tensor_scale is NoneType"),
        (FP8, {"tensor_scale": 1.0}, TypeError, "tensor_scale is float"),
        (FP8, {"tensor_scale": torch.ones(()).double()}, TypeError, r"tensor_scale is torch\.float64"),
        (FP8, {"scales": torch.ones(2, 3)}, ValueError, "scales is given, scheme FP8 has none"),
        (MXFP8, {"tensor_scale": torch.ones(())}, ValueError, "tensor_scale is given, scheme MXFP8 has none"),
        (NVFP4, {"scales": torch.zeros(2, 3, device="meta").byte()}, ValueError, "scales is on meta, codes is on"),
        (FP8, {"scheme": "FP8"}, TypeError, "scheme is str, a Scheme is wanted"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(undo, scheme, change, error, words, device):
    quantized = quantized_randn(device, scheme, 2, 33)
    changed = {
        name: getattr(quantized, name)[:, x].contiguous()
        if isinstance(x, slice)
        else x.to(device)
        if isinstance(x, torch.Tensor) and not x.is_meta
        else x
        for name, x in change.items()
    }
    with pytest.raises(error, match=words):
        undo(replace(quantized, **changed))


@every_scheme
def test_what_lies_in_another_order_is_refused_by_the_kernel_alone(scheme, device):
    quantized = quantized_randn(device, scheme, 3, 290)
    for name in ("codes", "scales"):
        tensor = getattr(quantized, name)
        if tensor is not None:
            turned = replace(quantized, **{name: tensor.mT.contiguous().mT})
            assert dequantize(turned).equal(dequantize(quantized))
            with pytest.raises(ValueError, match=rf"{name} is not contiguous: call .contiguous\(\) first"):
                dequantize_blocks(turned)


def test_a_lazy_sign_is_refused_by_the_kernel(device):
    quantized = quantized_randn(device, NVFP4, 2, 33)
    for name in ("codes", "scales", "tensor_scale"):
        with pytest.raises(TypeError, match=f"{name} is negated lazily"):
            dequantize_blocks(replace(quantized, **{name: torch._neg_view(getattr(quantized, name))}))


@UNDO
@pytest.mark.parametrize("quantized", [torch.zeros(2), None])
def test_a_tensor_is_no_quantized(undo, quantized):
    with pytest.raises(TypeError, match=f"quantized is {type(quantized).__name__}, a Quantized is wanted"):
        undo(quantized)
