"""Sheet 4's square: one head in FP16."""

N, HEAD_DIM, BYTES = 8192, 128, 2
