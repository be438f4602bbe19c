"""The example: two numbers, and their sum."""

NUMBERS = (3, 4)
SUM = 7
