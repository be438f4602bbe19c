"""How much longer a kernel and an exchange take together than the kernel alone, by three ways of copying."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from scripts import records
from scripts.chapters import plot

ALT = (
    "Percent by which a kernel and an exchange take longer together than the kernel alone, in bars with the interval "
    "of the repetitions, for short parts and for long ones: a bar for messages, one for messages with few thread "
    "blocks and one for copies of peer memory. The last is close to zero, the others stand above it. With long parts "
    "the intervals of messages are wide."
)
WAYS = {  # way -> role, and its name on the axis
    "messages": ("grey", "messages"),
    "messages, 4 thread blocks": ("grey", "messages, 4 blocks"),
    "peer memory": ("accent", "peer memory"),
}


def figure() -> go.Figure:
    rows = records.table("overlap", "overlap")
    lengths = sorted({row["tokens"] for row in rows})
    fig = make_subplots(len(lengths), 1, shared_xaxes=True, vertical_spacing=0.2)
    for panel, tokens in enumerate(lengths, start=1):
        for how, (role, name) in WAYS.items():
            way_rows = plot.rows_with(rows, how=how, tokens=tokens)
            fig.add_bar(
                x=[row["cost"] for row in way_rows],
                y=[name] * len(way_rows),
                text=[f"{row['cost']:.3g} %" for row in way_rows],
                error_x=plot.error_bars(way_rows, "cost"),
                row=panel,
                col=1,
                **plot.Style(name, role).bars(f"%{{name}}, {tokens:,} tokens: %{{x:.3g}} % longer", "value"),
            )
        fig.update_yaxes(plot.name_axis(f"{tokens:,} tokens a GPU"), row=panel, col=1)
    ends = min(row["low"] for row in rows), 1.4 * max(row["high"] for row in rows)  # with room for the values
    fig.update_xaxes(visible=False, range=[min(0, ends[0]), ends[1]])
    return plot.finish(fig, 260, barmode="overlay", bargap=0.4)
