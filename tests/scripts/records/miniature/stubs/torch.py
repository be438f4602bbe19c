import os
from types import SimpleNamespace

__version__ = "0.1"
version = SimpleNamespace(cuda="0.2")
gpus = int(os.environ.get("GPUS", "1"))
cuda = SimpleNamespace(
    is_available=lambda: gpus > 0,
    device_count=lambda: gpus,
    get_device_name=lambda: "NVIDIA H200",
    nccl=SimpleNamespace(version=lambda: (2, 28, 9)),
)
