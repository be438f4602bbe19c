"""The three words that chapter 1 works out by hand and later chapters return to."""


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def blend(shares, rows):
    return [dot(shares, column) for column in zip(*rows, strict=True)]


Q = [[1, 0], [1, 1], [0, 1]]
K = [[1, 0], [0, 1], [1, 1]]
V = [[10, 0], [0, 10], [5, 5]]
S = [[dot(q, k) for k in K] for q in Q]
AT_THE_BOARD = [[0.4, 0.2, 0.4], [0.25, 0.25, 0.5], [0.2, 0.4, 0.4]]  # the shares, divided by √d and rounded
