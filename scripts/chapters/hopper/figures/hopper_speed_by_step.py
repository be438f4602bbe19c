"""What each mechanism of the Hopper kernel gives: TFLOP/s from the portable kernel up, beside cuDNN."""

import plotly.graph_objects as go

from scripts.chapters import plot
from scripts.chapters.hopper import steps
from scripts.chapters.hopper.steps import NAMES

ALT = (
    "A ladder of speeds in TFLOP/s, one step a line: the portable kernel, specialised warps, overlapped softmax, "
    "persistent programs, pairs of blocks and single ones where causal, queries in registers with the middle heads, "
    "ping-pong with the smallest, but for short causal sequences, with the middle ones on short causal sequences "
    "alone, and with the largest on all causal ones, conditional rescaling with the largest, half of the last block "
    "with the smallest where causal, an overlapped epilogue with the smallest and, but for short causal sequences, "
    "with the middle ones, and cuDNN for comparison. "
    "There is a line for each of long and short sequences, causal and not. Specialised warps "
    "gain on long sequences and with the largest heads; on short ones they lose with the two smaller. Persistent "
    "programs gain on short sequences, but for causal ones with the largest heads, where they lose; on long ones that "
    "are not causal they change little, and on long causal ones they lose, badly with the two larger heads. On these "
    "pairs win nearly all of it back with the two larger heads, and more than all with the smallest; on short causal "
    "sequences they gain with all heads. Single blocks gain a little. Queries in registers gain a little on causal "
    "sequences, and barely change the speed on others. Ping-pong gains a little with the smallest heads, barely "
    "changes the speed with the middle ones, and costs a little with the largest. Conditional rescaling gains a "
    "little. So do half of the last block and the overlapped epilogue on short sequences, and on long ones they barely "
    "change the speed. A menu chooses the head dimension."
)
SETTINGS = {  # n, causal -> style
    (16384, True): plot.Style("N = 16,384, causal", "accent"),
    (16384, False): plot.Style("N = 16,384", "ink"),
    (1024, False): plot.Style("N = 1024", "soft"),
    (1024, True): plot.Style("N = 1024, causal", "grey"),
}
HEAD_DIMS = (64, 128, 256)
GAIN = (  # most intervals are narrower than a point: they are said, not drawn
    "%{name}, %{y}: %{x:.0f} TFLOP/s,<br>%{customdata[1]:.3f} of %{customdata[0]} "
    "(%{customdata[2]:.3f} to %{customdata[3]:.3f})"
)


def figure() -> go.Figure:
    fig, head_dims = go.Figure(), []
    for head_dim in HEAD_DIMS:
        rows = steps.rows_of(head_dim)
        measured_steps = [name for step, name in NAMES.items() if plot.rows_with(rows, step=step)]
        fig.add_scatter(  # no point, but the order of the axis: no setting has all steps of its heads
            x=[None] * len(measured_steps), y=measured_steps, mode="markers", hoverinfo="skip", meta={"role": "soft"}
        )
        head_dims.append(str(head_dim))
        for (n, causal), style in SETTINGS.items():
            speed = {row["step"]: row for row in plot.rows_with(rows, n=n, causal=causal)}
            *ladder, cudnn = [step for step in NAMES if step in speed]
            for drawn, named in [(ladder, "top"), ([cudnn], None)]:
                fig.add_scatter(
                    x=[speed[step]["speed"] for step in drawn],
                    y=[NAMES[step] for step in drawn],
                    customdata=[
                        [NAMES[speed[step]["over"]], *(speed[step][column] for column in ("gain", "low", "high"))]
                        for step in drawn
                    ],
                    **style.scatter(GAIN, named=named),
                )
                head_dims.append(str(head_dim))
    return plot.finish(
        fig,
        420,
        plot.trace_menu(fig, "Head dimension d", head_dims, "128"),
        xaxis={"title": "TFLOP/s", "range": [180, 810], "dtick": 100, "tick0": 200},
        yaxis=plot.name_axis(),  # the steps of these heads, no others
    )
