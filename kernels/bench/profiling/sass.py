"""Finds the instructions of a kernel's loops, as the GPU gets them.

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


def opcodes(loop: list[str]) -> Counter[str]:
    """Returns how many instructions a loop has of each kind: ``{"SHFL": 7, ...}``."""
    return Counter(re.split(r"\W", instruction, maxsplit=1)[0] for instruction in loop)


def loops(sass: str) -> list[list[str]]:
    """Returns the instructions of each innermost loop, in order: ``SHFL.BFLY PT, R5, ...``.

    sass: as ``asm["sass"]`` has it
    """
    instructions: list[str] = []
    labels: dict[str, int] = {}  # label -> the number of instructions before it
    found: list[tuple[int, list[str]]] = []  # where a loop begins, and what's in it
    for line in sass.splitlines():
        if label := LABEL.fullmatch(line.strip()):
            labels[label[1]] = len(instructions)
        if not (instruction := INSTRUCTION.fullmatch(line.rstrip())):
            continue
        instructions.append(instruction["name"] + instruction["rest"].rstrip())
        target = instruction["rest"].split()[-1:]
        if instruction["name"] != "BRA" or not target or target[0] not in labels:
            continue
        start = labels[target[0]]
        innermost = all(begins < start for begins, _ in found)
        jumps_in_place = len(instructions) == start + 1  # as behind a kernel's end
        if innermost and not jumps_in_place:
            found.append((start, instructions[start:]))
    return [loop for _, loop in found]
