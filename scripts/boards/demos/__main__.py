"""`python -m scripts.boards.demos` measures how long each demo takes, for its sheet to say: writes seconds.json."""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
from datetime import date
from pathlib import Path

import torch

from scripts.boards import demos

SECONDS = Path(__file__).with_name("seconds.json")


def main() -> None:
    took = {sheet: math.ceil(seconds(name)) for name, sheet in sorted(demos.sheets().items(), key=lambda each: each[1])}
    said = {"machine": machine(), "measured": date.today().isoformat(), "seconds": took}
    SECONDS.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")
    print(SECONDS.read_text(encoding="utf-8"), end="")


def seconds(name: str) -> float:
    """Of a process of its own, from its start to its end; processor time, which other work does not lengthen."""
    before = used()
    command = [sys.executable, "-m", "scripts.run", name, "--board"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return used() - before


def used() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def machine() -> str:
    """In words that follow *on*."""
    names = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]  # fmt: skip
    gpu = f"with an {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "without a GPU"
    return f"one processor of an {names[0]}, {gpu}"


if __name__ == "__main__":
    main()
