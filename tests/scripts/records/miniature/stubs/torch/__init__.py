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
