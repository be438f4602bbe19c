import subprocess
import sys

from kernels.launch import launch


def apart(x):
    command = [sys.executable, "-m", "kernels.child", str(x)]  # as a counter of bytes does
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def inside(x):
    print(launch(x))


if __name__ == "__main__":
    inside(sys.argv[1])
