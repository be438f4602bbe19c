"""Sheet 3's sentences: their words, their heads and the bytes of a number."""

WORDS, HEAD_DIM, BYTES = 4096, 64, 4  # one head, in FP32
SENTENCES, HEADS = 32, 32
POINTS = [65_536, 131_072]  # of the curves, one head of 128 numbers in BF16
