"""Sheet 9's work: causal, in heads of 128, and the uses of a ring that are written out."""

N, HEADS, HEAD_DIM, BYTES = 16384, 16, 128, 2
RING_USES = 6
