"""The roofline of an H100 and every rung of the ladder under it."""

import plotly.graph_objects as go

from kernels.bench.cost import attainable, attention_flops, eager_traffic, fused_traffic, three_kernels_traffic
from kernels.bench.hardware import H100
from scripts import records

ALT = (
    "A roofline with both axes logarithmic: TFLOP/s against FLOP per byte. A dashed roof is drawn from the maker's "
    "figures, a solid one a little below it from what a copy and a large matmul reached. The three lines and the three "
    "kernels lie under the slope. With bytes counted, one key and key blocks lie right of the ridge, far below the "
    "flat roof; FlashAttention lies much further right, and above them all. A menu chooses between one head with "
    "its bytes counted and many heads with their bytes predicted; there FlashAttention is close to the flat roof, and "
    "SDPA's fused backends join, of which cuDNN comes nearest."
)
ROOFS = [("the maker's figures", "soft", "dash", "bf16 peak", "hbm bandwidth")]
ROOFS += [("reached on an H100", "soft", "solid", "bf16 matmul", "hbm copy")]
HEAD_DIM, HEADS, TOKENS, N = 128, 16, 16384, 8192
FORMS = {  # form -> name, role, marker, where its name stands
    "attention": ("three lines", "accent", "circle", "middle right"),
    "three_kernel_attention": ("three kernels", "accent", "square", "bottom right"),
    "one_key_attention": ("one key", "soft", "circle-open", "bottom center"),
    "key_blocks_attention": ("key blocks", "soft", "square-open", "bottom center"),
    "flash_attention": ("ours", "query", "circle", "middle left"),
    "sdpa_efficient": ("efficient", "value", "triangle-up", "bottom center"),
    "sdpa_flash": ("flash", "value", "diamond", "middle right"),
    "sdpa_cudnn": ("cuDNN", "key", "diamond", "middle right"),
}
Points = dict[str, tuple[float, float]]  # form -> FLOP per byte, TFLOP/s


def counted() -> Points:
    """One head, every kernel of a form together, caches flushed before each."""
    rows = [row for row in records.table("hbm_traffic", "counted") if row["caches"] == "flushed"]
    points = {}
    for form in dict.fromkeys(row["form"] for row in rows):
        mine = [row for row in rows if row["form"] == form]
        flops = attention_flops(mine[0]["n"], HEAD_DIM)
        moved = 1e6 * sum(row["read"] + row["written"] for row in mine)
        points[form] = flops / moved, flops / 1e9 / sum(row["time"] for row in mine)
    return points


def predicted() -> Points:
    """Many heads, at the speed that the ladder measured and the bytes that each form must move."""
    rows = {
        (row["form"], row["n"]): row["speed"]
        for row in records.table("prefill_speed", f"forward_{HEAD_DIM}")
        if not row["causal"]
    }
    points = {}
    for form in FORMS:
        n = N if (form, N) in rows else min(n for name, n in rows if name == form)
        size = {"n": n, "head_dim": HEAD_DIM, "element_bytes": 2, "heads": HEADS, "batch": TOKENS // n}
        if form == "attention":
            steps = eager_traffic(**size)
        elif form == "three_kernel_attention":
            steps = three_kernels_traffic(**size, square_element_bytes=4)
        else:
            steps = fused_traffic(**size)
        moved = sum(step.read + step.written for step in steps)
        points[form] = attention_flops(n, HEAD_DIM, HEADS, TOKENS // n) / moved, rows[form, n]
    return points


def figure() -> go.Figure:
    choices = {"one head, bytes counted": counted(), "many heads, bytes predicted": predicted()}
    fig = go.Figure()
    for name, role, dash, peak, bandwidth in ROOFS:
        pi, beta = H100[peak].value, H100[bandwidth].value
        at = [10, pi / beta, 20000]
        fig.add_scatter(
            x=at,
            y=[attainable(x, pi, beta) / 1e12 for x in at],
            name=name,
            mode="lines",
            line_dash=dash,
            meta={"role": role},
            hovertemplate=f"{name}: %{{y:.3g}} TFLOP/s at %{{x:.3g}} FLOP/B<extra></extra>",
        )
    first = next(iter(choices.values()))
    for form, (name, role, symbol, place) in FORMS.items():
        x, y = first.get(form, (None, None))
        fig.add_scatter(
            x=[x],
            y=[y],
            text=[name],
            name=name,
            showlegend=False,
            mode="markers+text",
            textposition=place,
            marker={"size": 11, "symbol": symbol},
            meta={"role": role},
            hovertemplate=f"{name}: %{{y:.3g}} TFLOP/s at %{{x:.3g}} FLOP/B<extra></extra>",
        )
    which = list(range(len(ROOFS), len(ROOFS) + len(FORMS)))
    buttons = []
    for label, points in choices.items():
        places = [points.get(form, (None, None)) for form in FORMS]
        change = {"x": [[x] for x, _ in places], "y": [[y] for _, y in places]}
        buttons.append({"label": label, "method": "restyle", "args": [change, which]})
    ticks = {"x": [10, 100, 1000, 10000], "y": [1, 10, 100, 1000]}
    fig.update_layout(
        template=None,
        height=420,
        margin={"l": 60, "r": 10, "t": 40, "b": 50},
        updatemenus=[{"name": "Bytes", "buttons": buttons}],
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.02, "yanchor": "bottom"},
        xaxis={"title": "FLOP per byte", "type": "log", "tickvals": ticks["x"], "ticktext": ticks["x"]},
        yaxis={"title": "TFLOP/s", "type": "log", "tickvals": ticks["y"], "ticktext": ticks["y"]},
    )
    fig.update_xaxes(fixedrange=True, range=[0.9, 4.4])
    fig.update_yaxes(fixedrange=True, range=[-0.6, 3.2])
    return fig
