"""The words that turn a sentence: put another of its group in place of one, and the sentence says something else."""

import re

GROUPS = """
    faster slower | fast slow | fastest slowest | cheaper dearer | ahead behind | gain lose | gains loses | won lost
    more less fewer | most least | longer shorter | long short | larger smaller | large small | largest smallest
    higher lower | high low | highest lowest | better worse | best worst | above below | near far | few many
    rises falls | rise fall | rising falling | grows shrinks | doubles halves | doubled halved | double halve
    every all each no none nothing not | both neither | always never often | only except hardly
    half twice third thirds quarter quarters fifth sixth eighth ninth tenth tenths twentieth sixteenth sixty-fourth
    first last | before after | left right | same differ level | reads writes | read written
    causal full | cuDNN SDPA math FlashAttention FlashAttention-2 memory-efficient | HBM L1 L2
    FP8 FP16 FP32 FP64 BF16 NVFP4 MX E2M1 E4M3 E5M2
"""
OTHERS = {}  # word, in small letters -> the others of its group
for group in (part.split() for part in re.split(r"\||\n", GROUPS)):
    OTHERS |= {word.lower(): [other for other in group if other != word] for word in group}
WORD = re.compile(
    rf"(?<![\w-])(?:{'|'.join(sorted(OTHERS, key=len, reverse=True))})(?![\w-])",
    re.IGNORECASE,
)
UNREAD = re.compile(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->")  # code, values, addresses of links, marks


def turning(words):
    """(where it begins, the word) of each word that turns these, in their order."""
    text = UNREAD.sub(lambda part: " " * len(part[0]), words)
    return [(match.start(), match[0]) for match in WORD.finditer(text)]
