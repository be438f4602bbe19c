"""Attention on Hopper GPUs, in Gluon.

Raises ImportError where Gluon is not as it is in triton 3.6 and 3.7; ``kernels.dispatch`` then
takes ``kernels.flash.attention.flash_attention``.
"""

import triton

try:
    from triton.experimental.gluon.language.nvidia.hopper import (
        fence_async_shared,  # noqa: F401
        mbarrier,  # noqa: F401
        tma,  # noqa: F401
        warpgroup_mma,  # noqa: F401
    )
except ImportError as error:
    raise ImportError(
        "hopper_attention needs Gluon for Hopper, as triton 3.6 and 3.7 have it, and here is "
        f"triton {triton.__version__}: use flash_attention"
    ) from error
