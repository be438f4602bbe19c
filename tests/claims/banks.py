"""How long the accesses of a compiled kernel to shared memory take, reckoned from its PTX.

Shared memory has 32 banks, columns of 4 bytes, and each gives one word a clock: lanes of a warp that want different
words of one bank are served one after another, lanes that want the same word together.
"""

import operator
import re
from collections import defaultdict

BANKS, WORD, WARP = 32, 4, 32
DEFINED = re.compile(r"^\s*([a-z][\w.]*)\s+(%\w+), *([^;{}]+);", re.MULTILINE)
ACCESS = re.compile(r"^\s*(?:@(!?)(%p\d+)\s+)?(?:ld|st)\.shared(?:\.v(\d))?\.b(\d+)\s.*\[\s*([%\w]+)(?:\s*\+\s*(\d+))?")
OPERATORS = {"and": "and_", "or": "or_", "xor": "xor", "add": "add", "sub": "sub", "mul": "mul"}
OPERATORS |= {"shl": "lshift", "shr": "rshift"}


def clocks(ptx, threads):
    """Clocks of each access to shared memory in this PTX, whose addresses follow from the number of a thread alone."""
    return clocks_of(ptx, definitions(ptx), threads)


def clocks_of(lines, defined, threads):
    """The same of some lines of it, with the ``definitions`` of all."""
    found = []
    for line in lines.splitlines():
        if access := ACCESS.match(line):
            unless, predicate, numbers, bits, base, offset = access.groups()
            size = int(numbers or 1) * int(bits) // 8
            served = range(0, threads, WARP * WORD // max(size, WORD))  # lanes that are served together: 128 bytes
            total = 0
            for first in served:
                lanes = range(first, first + served.step)
                awake = [t for t in lanes if not predicate or (not unless) == bool(valued(predicate, t, defined))]
                starts = [valued(base, t, defined) + int(offset or 0) for t in awake]
                total += busiest({(start + byte) // WORD for start in starts for byte in range(size)})
            found.append(total)
    return found


def busiest(words):
    """How many words the bank has to give of which most are wanted."""
    banks = defaultdict(int)
    for word in words:
        banks[word % BANKS] += 1
    return max(banks.values(), default=0)


def definitions(ptx):
    """register -> the instruction that first sets it, and its operands"""
    found = {}
    for instruction, register, operands in DEFINED.findall(ptx):
        found.setdefault(register, (instruction.split("."), [each.strip() for each in operands.split(",")]))
    return found


def valued(operand, thread, defined):
    """An operand's value in a thread.

    Raises:
        KeyError: if it does not follow from the thread's number.
    """
    if operand in ("%tid.x", "global_smem"):
        return thread if operand == "%tid.x" else 0  # shared memory begins in the first bank
    if re.fullmatch(r"-?\d+", operand):
        return int(operand)
    (name, *kinds), operands = defined[operand]
    values = [valued(each, thread, defined) for each in operands]
    if name in ("mov", "cvt"):
        return values[0]
    if name == "not":
        return not values[0]
    if name == "setp":
        return getattr(operator, kinds[0])(*values)
    if name == "bfe":
        return values[0] >> values[1] & (1 << values[2]) - 1
    if name == "selp":
        return values[0] if values[2] else values[1]
    return getattr(operator, OPERATORS[name])(*values)
