"""What a user would pick instead: PyTorch's own attention, asked for one backend at a time.

``scaled_dot_product_attention`` chooses among its backends by itself, and the choice changes
with the version, the GPU and the shapes.  What our kernels are measured against is therefore
each of them, called by name.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention


def sdpa(backend: SDPBackend) -> Callable[..., Tensor]:
    """``scaled_dot_product_attention`` by this backend alone.

    Where the backend refuses a shape, a dtype or a machine it raises RuntimeError, and warns
    why.
    """

    def attention(q: Tensor, k: Tensor, v: Tensor, **options) -> Tensor:
        with sdpa_kernel(backend):
            return scaled_dot_product_attention(q, k, v, **options)

    return attention


SDPA = {
    "sdpa_flash": sdpa(SDPBackend.FLASH_ATTENTION),
    "sdpa_cudnn": sdpa(SDPBackend.CUDNN_ATTENTION),
    "sdpa_efficient": sdpa(SDPBackend.EFFICIENT_ATTENTION),
    "sdpa_math": sdpa(SDPBackend.MATH),
}
