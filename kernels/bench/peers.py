"""What a user would pick instead of our kernels: PyTorch's attention, one backend at a time.

``scaled_dot_product_attention`` chooses its backend itself, and the choice depends on the
version, the GPU and the shapes.  So we measure our kernels against each backend by name.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention


def sdpa(backend: SDPBackend) -> Callable[..., Tensor]:
    """Returns ``scaled_dot_product_attention`` by this backend alone.

    It raises a RuntimeError if the backend refuses a shape, a dtype or a machine, and warns
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
