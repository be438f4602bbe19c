"""How many clocks of an SM a pair takes in short texts and in long ones, and for how many each unit works."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot
from scripts.chapters.first_kernel import worked

ALT = (
    "A chart with both axes logarithmic: clocks for a pair over the words of a text. The LSU's line stays low. The "
    "ALU's begins below it and rises across it. The line of the time keeps above both: at first it's level, and the "
    "sums set the time. Then it rises with the ALU's, and the passes do. At the right end it is "
    "{fact=a_pair_in_a_long_row} as high."
)
LINES = {  # the column of the table -> its line
    "all": plot.Style("time", "accent"),
    "lsu": plot.Style("LSU: sums", "ink"),
    "alu": plot.Style("ALU: passes", "soft", symbol="square"),
}
WORDS = [256, 512, 1024, 2048, 4096, 8192]
HEAD_DIM = 64
HIGH = 700  # clocks: where it says which of the two lead


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("what_limits", "clocks"), head_dim=HEAD_DIM)
    fig = go.Figure()
    for unit, style in LINES.items():
        hover = "%{x} words, %{name}: %{y:.0f} clocks"
        fig.add_scatter(x=[row["n"] for row in rows], y=[row[unit] for row in rows], **style.scatter(hover))
    lsu, loops = worked.load_store_clocks(worked.WARPS, HEAD_DIM), worked.alu_clocks(worked.WARPS, places=0)
    words = (lsu - loops) / worked.alu_clocks(0, places=1)  # where the ALU has as much to do, by hand
    crossing = plot.Style("by hand", "ink", predicted=True).scatter(
        "by hand: %{x:.0f} words", "markers", 12, named=None
    )
    fig.add_scatter(x=[words], y=[lsu], **crossing)
    plot.add_text(fig, [words], [0.85 * lsu], [f"{words:.0f} by hand"], "ink", textposition="bottom right")
    plot.add_text(fig, [words / 2, 2 * words], [HIGH, HIGH], ["sums lead", "passes lead"], "ink")
    border = plot.Style("by hand", "soft", predicted=True).scatter("by hand: %{x:.0f} words", "lines", named=None)
    fig.add_scatter(x=[words, words], y=[lsu, HIGH], **border)
    axes = plot.log_axis("words in a text", WORDS), plot.log_axis("clocks", [50, 100, 200, 500, 1000])
    return plot.finish(fig, 340, xaxis=axes[0], yaxis=axes[1])
