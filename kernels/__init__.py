"""Attention kernels to be read aloud: one idea a file, in the order a reader meets them.

    from kernels import attention, KVCache, decode_attention, quantize

``attention`` calls the fastest form for the device, dtype and shape.  A name imports its module
when you first use it, so importing this package imports neither torch nor triton.
"""

MODULE_OF = {
    "attention": "dispatch",
    "fastest_rung": "dispatch",
    "reference_attention": "dispatch",
    "one_key_attention": "first.one_key",
    "key_blocks_attention": "first.key_blocks",
    "three_kernel_attention": "first.three_kernels",
    "flash_attention": "flash.attention",
    "warp_specialized_attention": "hopper.warp_specialized",
    "hopper_attention": "hopper.attention",
    "decode_attention": "serving.decode",
    "KVCache": "serving.cache",
    "quantize": "formats.block",
    "dequantize": "formats.block",
    "merge": "flash.partial",
}


def __getattr__(name: str):
    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = __import__(f"{__name__}.{MODULE_OF[name]}", fromlist=[name])
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted(MODULE_OF)
