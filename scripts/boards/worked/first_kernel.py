"""Sheet 5's row, and its table of sentences with the program that finds its query there."""

QUERY, KEYS = (1, 1), ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))
SENTENCES, HEADS, WORDS, HEAD_DIM = 2, 2, 3, 2
PROGRAM = 7
