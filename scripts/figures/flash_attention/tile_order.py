"""Which tile of the score grid is visited at which step, forward and backward, causal or not."""

import plotly.graph_objects as go

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
FIRST_SHOWN = 3  # steps


def visits(owns: str, causal: bool) -> dict[tuple[int, int], int]:
    """(block of queries, block of keys) -> the step at which its program visits the tile, from 1 on."""
    tiles = [(i, j) for i in range(BLOCKS) for j in range(BLOCKS) if j <= i or not causal]
    if owns == "queries":
        return {(i, j): j + 1 for i, j in tiles}
    return {(i, j): i - (j if causal else 0) + 1 for i, j in tiles}


def grids(owns: str, causal: bool, step: int) -> tuple[list, list]:
    """Shade and text of every tile once ``step`` steps are done."""
    at = visits(owns, causal)
    shade: list = [[None] * BLOCKS for _ in range(BLOCKS)]
    text = [[""] * BLOCKS for _ in range(BLOCKS)]
    for (i, j), when in at.items():
        shade[i][j] = 0.06 if when > step else 0.65 if when == step else 0.25
        if when <= step:
            text[i][j] = f"<u>{when}</u>" if causal and i == j else str(when)
    return shade, text


def figure() -> go.Figure:
    names = [str(block + 1) for block in range(BLOCKS)]
    fig = go.Figure()
    for index, (owns, causal) in enumerate(PASSES.values()):
        shade, text = grids(owns, causal, FIRST_SHOWN)
        fig.add_heatmap(
            x=names,
            y=names,
            z=shade,
            text=text,
            texttemplate="%{text}",
            textfont={"size": 15},
            zmin=0,
            zmax=1,
            xgap=2,
            ygap=2,
            showscale=False,
            visible=index == 1,
            hovertemplate="queries %{y}, keys %{x}<extra></extra>",
        )
    every = list(range(len(PASSES)))
    buttons = [
        {"label": label, "method": "restyle", "args": [{"visible": [i == index for i in every]}, every]}
        for index, label in enumerate(PASSES)
    ]
    steps = []
    for step in range(1, BLOCKS + 1):
        drawn = [grids(owns, causal, step) for owns, causal in PASSES.values()]
        change = {"z": [shade for shade, _ in drawn], "text": [text for _, text in drawn]}
        steps.append({"label": str(step), "method": "restyle", "args": [change, every]})
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 60, "r": 10, "t": 50, "b": 10},
        updatemenus=[{"name": "Pass", "active": 1, "buttons": buttons}],
        sliders=[{"name": "Step", "active": FIRST_SHOWN - 1, "steps": steps}],
        xaxis={"side": "top", "title": "block of keys", "type": "category", "fixedrange": True, "showgrid": False},
        yaxis={"autorange": "reversed", "title": "block of queries", "type": "category", "fixedrange": True},
    )
    fig.update_yaxes(showgrid=False)
    return fig
