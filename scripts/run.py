"""Runs one snippet: `make run SNIPPET=three_matmuls`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import torch

SNIPPETS = {path.stem: path for path in (Path(__file__).parents[1] / "snippets").glob("*/*.py")}


def main(name: str) -> None:
    if name not in SNIPPETS:
        sys.exit(f"There is no snippet {name!r}; there are: {', '.join(sorted(SNIPPETS))}")
    script = SNIPPETS[name]
    if not torch.cuda.is_available():
        print(without_gpu(script.read_text(encoding="utf-8")), flush=True)
    sys.path[0] = str(script.parent)  # as if it had been called by its path
    runpy.run_path(str(script), run_name="__main__")


def without_gpu(source: str) -> str:
    """What to expect of a snippet on a machine without a GPU."""
    if "TRITON_INTERPRET" in source:
        return "torch finds no GPU: Triton's interpreter runs the kernels on the CPU, which can take a minute.\n"
    return "torch finds no GPU: what only a GPU can measure is left out.\n"


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
