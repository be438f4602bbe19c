"""What one meeting of a query with a key costs as N grows, for the two programs that hold a whole row of scores."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "Picoseconds a meeting against N, from two hundred and fifty-six to eight thousand, both axes logarithmic. One key "
    "at a time is level up to five hundred and twelve, then rises, and in the end doubles with N. Key blocks lie far "
    "below it, nearly level up to four thousand, and rise at the last point."
)
FORMS = {"one_key_attention": ("one key", "accent", "dot"), "key_blocks_attention": ("key blocks", "query", "solid")}


def figure() -> go.Figure:
    rows = records.table("key_blocks", "times")
    lengths = sorted({row["n"] for row in rows})
    fig = go.Figure()
    for form, (name, role, dash) in FORMS.items():
        costs = {row["n"]: row["one_meeting"] for row in rows if row["form"] == form}
        fig.add_scatter(
            x=lengths,
            y=[costs[n] for n in lengths],
            name=name,
            mode="lines+markers",
            marker_size=9,
            line_dash=dash,
            meta={"role": role},
            hovertemplate=f"{name}, N = %{{x}}: %{{y:.3g}} ps a meeting<extra></extra>",
        )
    fig.update_xaxes(title="N", type="log", tickvals=lengths, ticktext=lengths, fixedrange=True)
    ticks = [50, 100, 200, 500, 1000, 2000, 5000, 10000]
    fig.update_yaxes(title="picoseconds a meeting", type="log", tickvals=ticks, ticktext=ticks, fixedrange=True)
    fig.update_layout(
        template=None,
        height=360,
        margin={"l": 75, "r": 15, "t": 30, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
    )
    return fig
