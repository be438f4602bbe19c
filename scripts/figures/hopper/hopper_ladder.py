"""What each mechanism of the Hopper kernel gives: TFLOP/s from the portable kernel up, beside cuDNN."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "A ladder of speeds in TFLOP/s, one step a line: the portable kernel, specialised warps, overlap, persistent "
    "programs, pairs of blocks where causal, and cuDNN for comparison. There is a line for each of short and long "
    "sequences, causal and not. Specialised warps gain on long sequences and with the largest heads. On short ones "
    "they lose with the smallest heads and, causal, with the middle ones. Persistent programs gain most on short "
    "sequences that are not causal; on long causal ones they lose, badly with the two larger heads, and pairs win that "
    "back. A menu chooses the head dimension."
)
STEPS = {  # step of the record -> its name on the axis
    "flash_attention": "portable",
    "specialised": "specialised",
    "overlap": "overlap",
    "persistent": "persistent",
    "paired": "paired",
    "sdpa_cudnn": "cuDNN",
}
SETTINGS = {  # n, causal -> name, role, dash, symbol
    (16384, False): ("N = 16,384", "query", "solid", "circle"),
    (16384, True): ("N = 16,384, causal", "accent", "dash", "diamond"),
    (1024, False): ("N = 1024", "value", "dot", "square"),
    (1024, True): ("N = 1024, causal", "key", "dashdot", "triangle-up"),
}
HEAD_DIMS = (64, 128, 256)


def figure() -> go.Figure:
    fig = go.Figure()
    shown = HEAD_DIMS.index(128)
    for index, head_dim in enumerate(HEAD_DIMS):
        rows = records.table("hopper_steps", f"steps_{head_dim}")
        for (n, causal), (name, role, dash, symbol) in SETTINGS.items():
            speed = {row["step"]: row for row in rows if (row["n"], row["causal"]) == (n, causal)}
            ladder = [step for step in STEPS if step in speed and step != "sdpa_cudnn"]
            for steps, in_legend in ((ladder, True), (["sdpa_cudnn"], False)):
                fig.add_scatter(
                    x=[speed[step]["speed"] for step in steps],
                    y=[STEPS[step] for step in steps],
                    name=name,
                    legendgroup=name,
                    showlegend=in_legend,
                    mode="lines+markers",
                    marker_size=9,
                    marker_symbol=symbol if in_legend else f"{symbol}-open",
                    line_dash=dash,
                    visible=index == shown,
                    meta={"role": role},
                    customdata=[[speed[step]["gain"], STEPS[speed[step]["over"]]] for step in steps],
                    hovertemplate=f"{name}, %{{y}}: %{{x:.0f}} TFLOP/s, %{{customdata[0]:.2f}} "
                    "of %{customdata[1]}<extra></extra>",
                )
    each = len(SETTINGS) * 2
    everyone = list(range(each * len(HEAD_DIMS)))
    names = list(STEPS.values())
    fig.update_xaxes(title="TFLOP/s", range=[180, 760], dtick=100, tick0=200, fixedrange=True)
    fig.update_yaxes(categoryorder="array", categoryarray=names, range=[len(names) - 0.5, -0.5], fixedrange=True)
    fig.update_layout(
        template=None,
        height=400,
        margin={"l": 90, "r": 15, "t": 70, "b": 50},
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        updatemenus=[
            {
                "name": "Head dimension d",
                "active": shown,
                "buttons": [
                    {
                        "label": str(head_dim),
                        "method": "restyle",
                        "args": [{"visible": [i // each == index for i in everyone]}, everyone],
                    }
                    for index, head_dim in enumerate(HEAD_DIMS)
                ],
            }
        ],
    )
    return fig
