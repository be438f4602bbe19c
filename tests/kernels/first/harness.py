"""What the tests of the first two kernels share."""

import torch


def tensors_on(device, arguments):
    """The arguments, with each tensor that has numbers moved to the device; strides and requires_grad come along."""
    for each in arguments:
        if isinstance(each, torch.Tensor) and not each.is_meta:
            moved = torch.empty_strided(each.shape, each.stride(), dtype=each.dtype, device=device)
            yield moved.copy_(each.detach()).requires_grad_(each.requires_grad)
        else:
            yield each
