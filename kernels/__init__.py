"""Attention kernels to be read aloud: one idea a file, in the order a reader meets them.

``kernels.flash_attention`` finds its module when it is first asked for; nothing is imported
before that.
"""

MODULE_OF = {
    "attention": "reference",
    "weights": "reference",
    "oracle": "reference",
    "naive_softmax": "softmax",
    "safe_softmax": "softmax",
    "OnlineSoftmax": "softmax",
    "flash_attention": "flash",
}


def __getattr__(name):
    if name not in MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = __import__(f"{__name__}.{MODULE_OF[name]}", fromlist=[name])
    return getattr(module, name)


def __dir__():
    return list(MODULE_OF)
