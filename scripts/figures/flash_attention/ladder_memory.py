"""The ladder complete: peak memory of every form that was measured, against N."""

import plotly.graph_objects as go

from scripts import records

ALT = (
    "Peak memory of one head against the number of words, both axes logarithmic. The three lines and the three "
    "kernels lie on one steep line and end in a cross, out of memory. Far below, on a line that rises half as steeply, "
    "lie our FlashAttention and the fused backends of SDPA, on each other but for the flash backend, which lies above "
    "them while the words are few. In training our FlashAttention takes least. A menu chooses forward or training."
)
FORMS = {  # form -> name, role, dash, marker
    "attention": ("three lines", "accent", "solid", "circle"),
    "three_kernel_attention": ("three kernels", "accent", "dot", "square-open"),
    "sdpa_efficient": ("SDPA efficient", "value", "dot", "triangle-up"),
    "sdpa_flash": ("SDPA flash", "value", "dash", "diamond"),
    "sdpa_cudnn": ("SDPA cuDNN", "key", "solid", "diamond-open"),
    "flash_attention": ("FlashAttention", "query", "solid", "circle"),
}
PASSES = {"forward": "forward only", "training": "forward and backward"}


def figure() -> go.Figure:
    tables = {passes: records.table("prefill_memory", passes) for passes in PASSES}
    fig = go.Figure()
    drawn = {}  # pass -> x and y of every trace
    for passes, rows in tables.items():
        xs, ys = [], []
        for form in FORMS:
            measured = [row for row in rows if row["form"] == form and not row["out_of_memory"]]
            xs.append([row["n"] for row in measured])
            ys.append([row["peak"] for row in measured])
        # Where memory ran out: drawn at four times the last that fitted, which the square makes it.
        failed = [row["n"] for row in rows if row["out_of_memory"] and row["form"] == "attention"]
        xs.append(failed)
        ys.append([4 * ys[0][-1] for _ in failed])
        drawn[passes] = xs, ys

    xs, ys = drawn["forward"]
    looks = [*FORMS.values(), ("out of memory", "accent", "solid", "x")]
    for (name, role, dash, symbol), x, y in zip(looks, xs, ys, strict=True):
        fig.add_scatter(
            x=x,
            y=y,
            name=name,
            mode="markers" if symbol == "x" else "lines+markers",
            line_dash=dash,
            marker={"symbol": symbol, "size": 12 if symbol == "x" else 8},
            meta={"role": role},
            hovertemplate=f"{name}, N = %{{x:,}}"
            + ("<extra></extra>" if symbol == "x" else ": %{y:,.4g} MiB<extra></extra>"),
        )
    every = list(range(len(looks)))
    buttons = [
        {"label": label, "method": "restyle", "args": [dict(zip("xy", drawn[passes], strict=True)), every]}
        for passes, label in PASSES.items()
    ]
    lengths = {1024: "1024", 4096: "4096", 16384: "16 Ki", 65536: "64 Ki", 262144: "256 Ki"}
    sizes = {1: "1 MiB", 32: "32 MiB", 2**10: "1 GiB", 2**15: "32 GiB"}
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 64, "r": 10, "t": 10, "b": 50},
        updatemenus=[{"name": "What is measured", "buttons": buttons}],
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        xaxis={"title": "words N (Ki = 1024)", "type": "log"},
        yaxis={"title": "peak memory", "type": "log", "tickvals": list(sizes), "ticktext": list(sizes.values())},
    )
    fig.update_xaxes(fixedrange=True, range=[2.9, 5.55], tickvals=list(lengths), ticktext=list(lengths.values()))
    fig.update_yaxes(fixedrange=True, range=[-0.9, 5.6])
    return fig
