"""The registry of hardware constants: chip -> name -> value, unit, source, trust.

No other file of the handbook has such a number.  Units are SI: a TB is 10¹² bytes; sizes on a
chip are in bytes.
"""

from typing import Literal, NamedTuple

Trust = Literal["specified", "measured", "secondary"]


class Constant(NamedTuple):
    """A number, and why anyone should believe it.

    trust: ``specified`` if its maker says so in a primary source; ``measured`` if we did, on
    the GPU that the source names; ``secondary`` if only other people's pages say so.
    """

    value: float
    unit: str
    source: str
    trust: Trust


_WHITEPAPER = "NVIDIA H100 Tensor Core GPU Architecture whitepaper"


_TUNING = "NVIDIA CUDA documentation, Hopper Tuning Guide"


_PTX = "NVIDIA PTX ISA, wgmma.mma_async"


_MEASURED_H100 = "NVIDIA H100 80GB HBM3, torch 2.11.0+cu130, triton 3.6.0, 2026-11-20"


_MEASURED_H200 = "NVIDIA H200, torch 2.11.0+cu130, triton 3.6.0, 2026-11-23"


_QUOTED = "as secondary pages quote it"


_ASKED = "which is what the FP32 lanes ask for; arithmetic at the tensor cores' clock"


_DERIVED = "arithmetic on the rows above, at the tensor cores' clock"


H100 = {
    "sms": Constant(132, "SM", _WHITEPAPER, "specified"),
    "tensor core clock": Constant(1.83e9, "1/s", _WHITEPAPER, "specified"),
    "bf16 tensor core": Constant(4096, "FLOP/clk/SM", _WHITEPAPER, "specified"),
    "fp32 lanes": Constant(256, "FLOP/clk/SM", _WHITEPAPER, "specified"),
    "bf16 peak": Constant(132 * 4096 * 1.83e9, "FLOP/s", _WHITEPAPER, "specified"),
    "bf16 matmul": Constant(
        724e12, "FLOP/s", f"8192³ on random data, {_MEASURED_H100}", "measured"
    ),
    "hbm": Constant(80e9, "B", f"the size in the name of the product, {_QUOTED}", "secondary"),
    "hbm bandwidth": Constant(
        3.35e12, "B/s", f"NVIDIA's figure for H100 SXM, {_QUOTED}", "secondary"
    ),
    "hbm copy": Constant(
        3.03e12, "B/s", f"bytes read and written by copy_, {_MEASURED_H100}", "measured"
    ),
    "hbm read": Constant(3.09e12, "B/s", f"bytes read by sum, {_MEASURED_H100}", "measured"),
    "l2": Constant(50 * 2**20, "B", f"as CUDA reports it, {_MEASURED_H100}", "measured"),
    "registers per SM": Constant(256 * 2**10, "B", f"NVIDIA's figure, {_QUOTED}", "secondary"),
    "register bandwidth": Constant(
        132 * 128 * 3 * 4 * 1.83e9,
        "B/s",
        f"3 numbers of 4 B a multiply-add, {_ASKED}",
        "secondary",
    ),
    "shared memory per SM": Constant(228 * 2**10, "B", _TUNING, "specified"),
    "shared memory per block": Constant(227 * 2**10, "B", _TUNING, "specified"),
    "shared memory per clock": Constant(
        128, "B/clk/SM", f"the width of 32 banks of 4 B, {_QUOTED}", "secondary"
    ),
    "shared memory bandwidth": Constant(132 * 128 * 1.83e9, "B/s", _DERIVED, "secondary"),
    "exp2": Constant(
        16, "1/clk/SM", f"NVIDIA's table of arithmetic throughput, {_QUOTED}", "secondary"
    ),
    "exp2 rate": Constant(132 * 16 * 1.83e9, "1/s", _DERIVED, "secondary"),
    "wgmma rows": Constant(64, "rows", _PTX, "specified"),
}


# The H200 has the H100's chip, GH100, with other memory around it.
_OF_THE_CHIP = (
    "sms",
    "tensor core clock",
    "bf16 tensor core",
    "fp32 lanes",
    "registers per SM",
    "register bandwidth",
    "shared memory per SM",
    "shared memory per block",
    "shared memory per clock",
    "shared memory bandwidth",
    "exp2",
    "exp2 rate",
    "wgmma rows",
)


H200 = {name: H100[name] for name in _OF_THE_CHIP} | {
    "bf16 peak": Constant(
        989e12, "FLOP/s", f"NVIDIA's figure for H200 SXM, {_QUOTED}", "secondary"
    ),
    "bf16 matmul": Constant(
        670e12, "FLOP/s", f"8192³ on random data once it is warm, {_MEASURED_H200}", "measured"
    ),
    "hbm": Constant(141e9, "B", f"NVIDIA's figure for H200, {_QUOTED}", "secondary"),
    "hbm bandwidth": Constant(
        4.8e12, "B/s", f"NVIDIA's figure for H200, {_QUOTED}", "secondary"
    ),
    "hbm copy": Constant(
        4.28e12, "B/s", f"bytes read and written by copy_, {_MEASURED_H200}", "measured"
    ),
    "hbm read": Constant(4.33e12, "B/s", f"bytes read by sum, {_MEASURED_H200}", "measured"),
    "l2": Constant(60 * 2**20, "B", f"as CUDA reports it, {_MEASURED_H200}", "measured"),
}


A100 = {
    "bf16 peak": Constant(
        312e12, "FLOP/s", "NVIDIA A100 Tensor Core GPU Architecture whitepaper", "specified"
    ),
    "fp16 tensor core peak": Constant(
        312e12, "FLOP/s", "NVIDIA A100 Tensor Core GPU Architecture whitepaper", "specified"
    ),
    "fp32 peak": Constant(
        19.5e12, "FLOP/s", "NVIDIA A100 Tensor Core GPU Architecture whitepaper", "specified"
    ),
    "hbm": Constant(80e9, "B", f"NVIDIA's figure for A100 80GB, {_QUOTED}", "secondary"),
    "hbm bandwidth": Constant(
        2.039e12, "B/s", f"NVIDIA's figure for A100 80GB SXM, {_QUOTED}", "secondary"
    ),
}


V100 = {
    "fp16 tensor core peak": Constant(
        125e12, "FLOP/s", "NVIDIA Tesla V100 whitepaper", "specified"
    ),
    "fp32 peak": Constant(15.7e12, "FLOP/s", "NVIDIA Tesla V100 whitepaper", "specified"),
    "hbm": Constant(32e9, "B", f"NVIDIA's figure for V100 32GB, {_QUOTED}", "secondary"),
    "hbm bandwidth": Constant(
        900e9, "B/s", f"NVIDIA's figure for V100, {_QUOTED}", "secondary"
    ),
}


_ONE_WAY = f"half of NVIDIA's figure for both ways, {_QUOTED}"


NVLINK = {  # to and from the other GPUs of its host, each way
    "H100": Constant(450e9, "B/s", _ONE_WAY, "secondary"),
    "H200": Constant(450e9, "B/s", _ONE_WAY, "secondary"),
    "A100": Constant(300e9, "B/s", _ONE_WAY, "secondary"),
    "V100": Constant(150e9, "B/s", _ONE_WAY, "secondary"),
}


_CHIPS = {"H100": H100, "H200": H200, "A100": A100, "V100": V100}


def chip_of(gpu: str) -> str:
    """Returns the registry's name of a GPU that its driver calls ``NVIDIA H100 80GB HBM3``.

    Raises:
        ValueError: if the registry has no such chip.
    """
    for word in gpu.replace("-", " ").split():
        if word in _CHIPS:
            return word
    raise ValueError(
        f"GPU {gpu!r} is none of those in kernels/bench/hardware.py: {', '.join(_CHIPS)}"
    )
