"""How the grader runs a function, watches what it reads and writes, and finds which mistake it makes."""
