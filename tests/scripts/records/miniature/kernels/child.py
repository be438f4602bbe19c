"""Runs a function in a Python of its own, as a counter of bytes does."""

import subprocess
import sys


def apart(x):
    run = subprocess.run([sys.executable, "-m", "kernels.child", str(x)], check=True, capture_output=True, text=True)
    return int(run.stdout)


def inside(x):
    from kernels.launch import launch

    return launch(x)


def not_called(x):
    return x


def command(x):
    print(inside(int(x)))


if __name__ == "__main__":
    command(*sys.argv[1:])
