"""How charts of a pair's clocks draw the time and each unit of an SM."""

from scripts.chapters import plot

LINES = {  # the column of the table -> its line
    "all": plot.Style("time", "accent"),
    "lsu": plot.Style("LSU", "ink"),
    "alu": plot.Style("ALU", "soft", symbol="square"),
    "issue": plot.Style("schedulers", "grey", symbol="diamond"),
}
