"""As much of torch as a record asks of it."""

import os

__version__ = "0.1"


class version:
    cuda = "0.2"


class cuda:
    @staticmethod
    def is_available():
        return os.environ.get("GPU") != "none"

    @staticmethod
    def get_device_name():
        return "A stand-in for a GPU"

    @staticmethod
    def device_count():
        return int(os.environ.get("GPUS", "1")) if cuda.is_available() else 0

    class nccl:
        @staticmethod
        def version():
            return (2, 28, 9)
