"""Sheet 4's square, one head in FP16, and the L2 of the GPU on which its trips were counted."""

N, HEAD_DIM, BYTES = 8192, 128, 2
H200_L2 = 60 * 2**20  # bytes, as CUDA reports it; an H100, with five of the six stacks of HBM, has 50 MiB
