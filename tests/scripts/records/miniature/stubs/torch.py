import os
from types import SimpleNamespace

__version__ = "0.1"
gpus = int(os.environ.get("GPUS", "1"))
version, nccl = SimpleNamespace(cuda="0.2"), SimpleNamespace(version=lambda: (2, 28, 9))
cuda = SimpleNamespace(is_available=lambda: gpus > 0, device_count=lambda: gpus, nccl=nccl)
cuda.get_device_name = lambda: "NVIDIA H200"
