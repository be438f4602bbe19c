"""Counts the instructions of a kernel's loops, as the GPU gets them.

Triton keeps them as text: what a launch returns has ``asm["sass"]``.  SASS is the GPU's own
instruction set, one instruction a line.  A name's first word says what it does: LDG loads from
memory, LDS and STS read and write shared memory, SHFL shuffles, ISETP compares integers, FSEL
selects one of two numbers.

Source: NVIDIA, CUDA Binary Utilities, "Instruction Set Reference".
"""

from __future__ import annotations

import re
from collections import Counter

LABEL = re.compile(r"(\w+):")
INSTRUCTION = re.compile(r".*\t(?P<predicate>@!?\w+ )?(?P<name>\w+)(?P<rest>[^;]*);")


def loops(sass: str) -> list[Counter[str]]:
    """Returns the instructions of each innermost loop, name -> how many, in order.

    sass: as ``asm["sass"]`` has it
    """
    names: list[str] = []
    labels: dict[str, int] = {}  # label -> the number of instructions before it
    found: list[tuple[int, Counter[str]]] = []  # where a loop begins, and what's in it
    for line in sass.splitlines():
        if label := LABEL.fullmatch(line.strip()):
            labels[label[1]] = len(names)
        if not (instruction := INSTRUCTION.fullmatch(line.rstrip())):
            continue
        names.append(instruction["name"])
        target = instruction["rest"].split()[-1:]
        if names[-1] != "BRA" or not target or target[0] not in labels:
            continue
        start = labels[target[0]]
        innermost = all(begins < start for begins, _ in found)
        if innermost and names[start:] != ["BRA"]:  # behind its end, a kernel jumps in place
            found.append((start, Counter(names[start:])))
    return [counts for _, counts in found]
