"""A single change to the plan of the Hopper kernel, and what it does to the speed: mostly nothing, or harm."""

import plotly.graph_objects as go

from scripts.chapters import plot
from scripts.chapters.hopper import steps

ALT = (
    "One change a line, and how fast the kernel is with it, as a multiple of its speed without. A dashed "
    "line marks no change. Ping-pong, where the plan has none, lies around it or just left of it. So do half of the "
    "last block and the overlapped epilogue with the middle heads on short causal texts; on long ones half of the last "
    "block loses. "
    "Another number of consumers than the plan's, smaller blocks of keys and a single stage lie left of it everywhere: "
    "three consumers at the middle heads the farthest of all, below half the speed, and a single stage the next there. "
    "Stages more or less than the plan's hardly matter at the smallest heads; at the middle ones a third stage, paid "
    "for with one of queries, loses on short texts and hardly changes the speed on long ones. A menu chooses the "
    "head dimension."
)
CHANGES = {  # step of the record -> its name on the axis
    "ping_pong=True": "ping-pong",
    "half_last_block=True": "half last block",
    "overlap_epilogue=True": "overlap epilogue",
    "consumers=2 registers=240": "two consumers",
    "consumers=3 registers=160": "three consumers",
    "block_k=64 stages=6": "64 keys a block, 6 stages",
    "block_k=64 stages=4": "64 keys a block, 4 stages",
    "stages=1": "1 stage",
    "stages=2": "2 stages",
    "stages=3": "3 stages",
    "stages=4": "4 stages",
    "stages=3 q_stages=1": "3 stages, 1 of queries",
}
SETTINGS = {  # n, causal -> style
    (16384, False): plot.Style("N = 16,384", "ink"),
    (16384, True): plot.Style("N = 16,384, causal", "ink", symbol="diamond"),
    (1024, False): plot.Style("N = 1024"),
    (1024, True): plot.Style("N = 1024, causal", symbol="diamond"),
}
HEAD_DIMS = (64, 128, 256)
GAIN = (  # most intervals are narrower than a point: they are said, not drawn
    "%{customdata[0]}, %{name}: %{customdata[1]:.0f} TFLOP/s, "
    "%{x:.3f} of the speed without (%{customdata[2]:.3f} to %{customdata[3]:.3f})"
)


def figure() -> go.Figure:
    fig, head_dims = go.Figure(), []
    for head_dim in HEAD_DIMS:
        rows = [row for row in steps.rows_of(head_dim) if row["step"] in CHANGES]
        tried_steps = [step for step in CHANGES if plot.rows_with(rows, step=step)]
        fig.add_scatter(  # first, so that the lines of the axis are in the order of the list
            x=[1] * len(tried_steps),
            y=[CHANGES[step] for step in tried_steps],
            **plot.Style("no change", "accent").scatter("%{y}", "lines", named="top"),
        )
        for (n, causal), style in SETTINGS.items():
            setting_rows = plot.rows_with(rows, n=n, causal=causal)
            fig.add_scatter(
                x=[row["gain"] for row in setting_rows],
                y=[CHANGES[row["step"]] for row in setting_rows],
                customdata=[
                    [CHANGES[row["step"]], *(row[column] for column in ("speed", "low", "high"))]
                    for row in setting_rows
                ],
                **style.scatter(GAIN, "markers", size=10, named="top"),
            )
        head_dims += [str(head_dim)] * (len(SETTINGS) + 1)
    return plot.finish(
        fig,
        400,
        plot.trace_menu(fig, "Head dimension d", head_dims, "128"),
        xaxis={
            "title": "speed with ÷ without",
            "range": [0.26, 1.08],
            "tickvals": [0.4, 0.6, 0.8, 1],
        },
        yaxis=plot.name_axis(),  # the changes that were tried at these heads, no others
    )
