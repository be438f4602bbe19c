"""The setting in which prefill_speed times every rung of the ladder, for the figures and boards that read its record.

Its tables have N and the head dimension in their columns; the other two numbers are in the snippet alone.
"""

N = 512  # words of a text: above it the slow rungs aren't timed
TOKENS, WIDTH = 16384, 2048  # texts · N, and heads · head dimension
HEAD_DIMS = (64, 128, 256)
