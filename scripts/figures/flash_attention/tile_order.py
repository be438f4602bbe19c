"""Which tile of the score grid is visited at which step, forward and backward, causal or not."""

import plotly.graph_objects as go

from scripts.figures import plot

ALT = (
    "A grid of eight blocks of queries, its rows, and eight blocks of keys, its columns. A slider moves through eight "
    "steps. Forward every row is a program: at each step all of them move one tile to the right, until the grid is "
    "full. Forward and causal a row ends at the diagonal, whose tiles are marked as masked, and what lies above it is "
    "never visited. Where keys and values get their gradients every column is a program and moves down; causal, "
    "it begins at the diagonal. A menu chooses the pass."
)
BLOCKS = 8
PASSES = {  # label -> what a program owns, causal
    "forward": ("queries", False),
    "forward, causal": ("queries", True),
    "backward, dK and dV": ("keys", False),
    "backward, dK and dV, causal": ("keys", True),
}
FIRST_SHOWN = 3  # the step that is shown when the page opens


def visits(owns: str, causal: bool) -> dict[tuple[int, int], int]:
    """(block of queries, block of keys) -> the step at which its program visits the tile, from 1 on."""
    tiles = [(i, j) for i in range(BLOCKS) for j in range(BLOCKS) if j <= i or not causal]
    if owns == "queries":
        return {(i, j): j + 1 for i, j in tiles}
    return {(i, j): i - (j if causal else 0) + 1 for i, j in tiles}


def grids(step: int) -> dict[str, list]:
    """Shade and text of every tile of every pass once ``step`` steps are done."""
    drawn = {"z": [], "text": []}
    for owns, causal in PASSES.values():
        shade: list = [[None] * BLOCKS for _ in range(BLOCKS)]
        text = [[""] * BLOCKS for _ in range(BLOCKS)]
        for (i, j), when in visits(owns, causal).items():
            shade[i][j] = 0.06 if when > step else 0.65 if when == step else 0.25
            if when <= step:
                text[i][j] = f"<u>{when}</u>" if causal and i == j else str(when)
        drawn["z"].append(shade)
        drawn["text"].append(text)
    return drawn


def figure() -> go.Figure:
    names = [str(block + 1) for block in range(BLOCKS)]
    first = grids(FIRST_SHOWN)
    fig = go.Figure()
    for shade, text in zip(first["z"], first["text"], strict=True):
        plot.grid(fig, shade, text, "queries %{y}, keys %{x}", size=15, x=names, y=names)
    every = list(range(len(PASSES)))
    return plot.page(
        fig,
        plot.Frame(height=420, top=50, bottom=10),
        plot.switch(fig, "Pass", list(PASSES), "forward, causal"),
        plot.slider("Step", {str(step): [grids(step), every] for step in range(1, BLOCKS + 1)}, str(FIRST_SHOWN)),
        legend=None,
        xaxis=plot.COLUMNS | {"type": "category", "title": "block of keys"},
        yaxis=plot.ROWS | {"type": "category", "title": "block of queries"},
    )
