"""Sheet 11's cache: that of Llama 3 8B, in 16 bits, and the page table of a short text."""

LAYERS, KV_HEADS, HEAD_DIM, BYTES = 32, 8, 128, 2
LONG = 131072  # tokens
PAGES, PAGE, TABLE, TOKENS = 8, 16, (6, 1, 2), 33
