"""Where the milliseconds go: the one-key kernel, and by which factor each of the next chapters shortens it."""

from itertools import pairwise

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A staircase of points that leads down and to the left, on a logarithmic axis of times: one key at a time, blocks "
    "of keys, many queries at a time without a row, and the kernel of cuDNN. Beside each step stands its factor. The "
    "step from blocks of keys to many queries is {fact=many_queries} as fast."
)
N, HEAD_DIM = 512, 128  # as in prefill_speed
FORMS = {  # name -> form
    "one key at a time": "one_key_attention",
    "32 keys": "key_blocks_attention",
    "many queries, no row": "flash_attention",
    "overlap: cuDNN": "sdpa_cudnn",
}


def figure() -> go.Figure:
    rows = plot.rows_with(records.table("prefill_speed", f"forward_{HEAD_DIM}"), n=N, causal=False)
    median = {row["form"]: row["median"] for row in rows}
    times = {name: median[form] for name, form in FORMS.items()}
    fig = go.Figure()
    steps = {name: (above, longer, shorter) for (above, longer), (name, shorter) in pairwise(times.items())}
    longest = max(steps, key=lambda name: steps[name][1] / steps[name][2])
    for name, (above, longer, shorter) in steps.items():
        step = {"x": [longer, longer, shorter], "y": [above, name, name], "mode": "lines", "hoverinfo": "skip"}
        fig.add_scatter(**step, line={"width": 4 if name == longest else 1.5}, meta={"role": "grey"})
        factor = f"÷ {float(f'{longer / shorter:.2g}'):g}"
        factor = 2 * "\N{NO-BREAK SPACE}" + (f"<b>{factor}</b>" if name == longest else factor)
        plot.add_text(fig, [longer], [name], [factor], textposition="middle right")
    for name, milliseconds in times.items():
        look = plot.Style(name, "accent" if name == next(iter(times)) else "ink")
        point = look.scatter("%{name}: %{x:.3g} ms", "markers+text", size=11, named=None)
        text = [f"<b>{milliseconds:.3g}</b>  "]
        fig.add_scatter(x=[milliseconds], y=[name], text=text, textposition="middle left", **point)
    ticks = plot.log_axis("milliseconds", [0.1, 1, 10, 100], ["0.1", "1", "10", "100"], range=[-1.8, 2.6])
    order = {"categoryorder": "array", "categoryarray": list(times), "showgrid": False}
    return plot.finish(fig, 260, xaxis=ticks, yaxis=plot.name_axis(**order))
