"""A single change to the plan of the Hopper kernel, and what it does to the speed: mostly nothing, or harm."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "One change a line, and how fast the kernel is with it, as a multiple of its speed without. A dashed "
    "line marks no change. Taking turns lies around it. Another number of consumers than the plan's, smaller blocks of "
    "keys and a single stage lie left of it nearly everywhere, three consumers at the middle heads and a single stage "
    "the farthest. Stages more or less than the plan's hardly matter at the smallest heads; at the middle ones a third "
    "stage, paid for with one of queries, loses in three of four settings. A menu chooses the head dimension."
)
NAMES = {  # step of the record -> its name on the axis
    "turns=True": "taking turns",
    "consumers=2 registers=240": "two<br>consumers",
    "consumers=3 registers=160": "three<br>consumers",
    "block_k=64 stages=6": "64 keys a block,<br>6 stages",
    "block_k=64 stages=4": "64 keys a block,<br>4 stages",
    "stages=1": "1 stage",
    "stages=2": "2 stages",
    "stages=4": "4 stages",
    "stages=3 q_stages=1": "3 stages,<br>1 of queries",
}
SETTINGS = {  # n, causal -> name, role, symbol
    (16384, False): ("N = 16,384", "query", "circle"),
    (16384, True): ("N = 16,384, causal", "accent", "diamond"),
    (1024, False): ("N = 1024", "value", "square"),
    (1024, True): ("N = 1024, causal", "key", "triangle-up"),
}
HEAD_DIMS = (64, 128, 256)


def figure() -> go.Figure:
    fig, owner = go.Figure(), []
    shown = HEAD_DIMS.index(128)
    for index, head_dim in enumerate(HEAD_DIMS):
        rows = [row for row in records.table("hopper_steps", f"steps_{head_dim}") if row["step"] in NAMES]
        names = [name for step, name in NAMES.items() if any(row["step"] == step for row in rows)]
        for (n, causal), (name, role, symbol) in SETTINGS.items():
            own = [row for row in rows if (row["n"], row["causal"]) == (n, causal)]
            fig.add_scatter(
                x=[row["gain"] for row in own],
                y=[names.index(NAMES[row["step"]]) for row in own],
                name=name,
                mode="markers",
                marker_size=11,
                marker_symbol=symbol,
                marker_opacity=0.85,
                visible=index == shown,
                meta={"role": role},
                customdata=[[NAMES[row["step"]].replace("<br>", " "), row["speed"]] for row in own],
                hovertemplate=f"%{{customdata[0]}}, {name}: %{{x:.2f}} of the speed without, "
                "%{customdata[1]:.0f} TFLOP/s<extra></extra>",
            )
            owner.append(index)
        fig.add_scatter(
            x=[0.3] * len(names),
            y=list(range(len(names))),
            mode="text",
            text=names,
            textposition="middle right",
            visible=index == shown,
            showlegend=False,
            hoverinfo="skip",
        )
        owner.append(index)
    everyone = list(range(len(owner)))
    fig.add_scatter(
        x=[1, 1],
        y=[-0.5, 5.5],
        mode="lines",
        line_dash="dash",
        line_width=1.5,
        meta={"role": "soft"},
        showlegend=False,
        hoverinfo="skip",
    )
    fig.update_xaxes(title="speed with the change ÷ without", range=[0.3, 1.08], fixedrange=True)
    fig.update_xaxes(tickvals=[0.6, 0.7, 0.8, 0.9, 1])
    fig.update_yaxes(range=[5.5, -0.5], showticklabels=False, tickvals=list(range(6)), fixedrange=True)
    fig.update_layout(
        template=None,
        height=400,
        margin={"l": 10, "r": 15, "t": 70, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        updatemenus=[
            {
                "name": "Head dimension d",
                "active": shown,
                "buttons": [
                    {
                        "label": str(head_dim),
                        "method": "restyle",
                        "args": [{"visible": [which == index for which in owner]}, everyone],
                    }
                    for index, head_dim in enumerate(HEAD_DIMS)
                ],
            }
        ],
    )
    return fig
