"""Attention kernels to be read aloud: one idea a file, in the order a reader meets them.

``kernels.flash_attention`` finds its module when it is first asked for; nothing is imported
before that.
"""

MODULE_OF = {
    "attention": "reference",
    "weights": "reference",
    "oracle": "reference",
    "AttentionHead": "multihead",
    "LoopedMultiHeadAttention": "multihead",
    "MultiHeadAttention": "multihead",
    "launch_timeline": "timeline",
    "naive_softmax": "softmax",
    "safe_softmax": "softmax",
    "OnlineSoftmax": "softmax",
    "strided_read": "coalescing",
    "repeated_read": "rereading",
    "one_key_attention": "one_key",
    "key_blocks_attention": "key_blocks",
    "three_kernel_attention": "three_kernels",
    "flash_attention": "flash",
    "hopper_attention": "hopper",
    "fastest_rung": "dispatch",
    "quantize": "block_scaling",
    "dequantize": "block_scaling",
    "KVCache": "kv_cache",
    "decode_attention": "decode",
}


def __getattr__(name):
    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = __import__(f"{__name__}.{MODULE_OF[name]}", fromlist=[name])
    return getattr(module, name)


def __dir__():
    return list(MODULE_OF)
