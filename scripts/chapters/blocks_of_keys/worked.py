"""Sheet 6's query, keys and values, the words whose steps are counted, and the strip."""

N = 512
QUERY = (1, 0)
KEYS = ((1, 0), (0, 1), (1, 1))
VALUES = ((10, 0), (0, 10), (5, 5))
STRIP_KEYS, STRIP_QUERIES = 8192, 64  # words and queries of the strip
