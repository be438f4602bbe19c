"""Measures how long the demo of each sheet takes, into scripts/chapters/demo_seconds.json, which the build quotes."""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
from datetime import date
from pathlib import Path

import torch

from scripts.chapters import demo

SECONDS_FILE = Path(__file__).parent / "chapters" / "demo_seconds.json"


def main() -> None:
    seconds_by_chapter = {chapter: math.ceil(demo_seconds(snippet)) for snippet, chapter in demo.chapters().items()}
    result = {
        "machine": machine_text(),
        "measured": date.today().isoformat(),
        "seconds": dict(sorted(seconds_by_chapter.items())),
    }
    SECONDS_FILE.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    print(SECONDS_FILE.read_text(encoding="utf-8"), end="")


def demo_seconds(name: str) -> float:
    """Processor seconds of a demo in its own process, start included; other work doesn't lengthen them."""
    before = processor_seconds()
    command = [sys.executable, "-m", "scripts.run", name, "--board"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return processor_seconds() - before


def processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def machine_text() -> str:
    """In words that follow *on*."""
    names = [line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]  # fmt: skip
    gpu = f"with an {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "without a GPU"
    return f"one processor of an {names[0]}, {gpu}"


if __name__ == "__main__":
    main()
