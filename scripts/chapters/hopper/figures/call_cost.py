"""What a call costs the host, as it is written and as a CUDA graph, beside what the GPU has to do."""

import plotly.graph_objects as go

from scripts import records
from scripts.chapters import plot

ALT = (
    "A line for each call, in groups: forward, forward and backward, a step of decode, a token appended. On each line "
    "stand three points, on a logarithmic axis of microseconds: what the host takes as the call is written, what it "
    "takes for a graph of it, and what the GPU takes. As written the point lies far to the right, and within each "
    "group PyTorch's own is the leftmost of them. For graphs all points lie close together at the left, left of what "
    "the GPU takes."
)
WORK_NAMES = {"forward": "forward", "both": "both passes", "decode": "decode"}
FORMS = {
    "sdpa": "SDPA",
    "flash_attention": "portable",
    "hopper_attention": "for Hopper",
    "attention": "dispatcher",
    "decode_attention": "ours",
}
NAMES = {
    ("append", "KVCache.append"): "append",
    ("step", "both of them"): "append and decode",
}  # others are put together
WAYS = {  # way, column -> style
    ("graph", "host"): plot.Style("host, as a graph", "accent"),
    ("graph", "done"): plot.Style("GPU", symbol="diamond"),
    ("eager", "host"): plot.Style("host, as written", "ink"),
}
GPU = "%{y}, %{name}: %{x:.3g} µs"
HOST = f"{GPU} (%{{customdata[0]:.3g}} to %{{customdata[1]:.3g}})"


def figure() -> go.Figure:
    rows = {(row["work"], row["form"], row["way"]): row for row in records.table("host_cost", "host_cost")}
    calls = list(dict.fromkeys((work, form) for work, form, _ in rows))
    names = [name_of(*call) for call in calls]
    fig = go.Figure()
    for (way, column), style in WAYS.items():
        way_rows = [rows[*call, way] for call in calls]
        fig.add_scatter(
            x=[row[column] for row in way_rows],
            y=names,
            customdata=[[row["p20"], row["p80"]] for row in way_rows],
            **style.scatter(HOST if column == "host" else GPU, "markers", size=10, named="top"),
        )
    return plot.finish(
        fig,
        120 + 20 * len(names),
        xaxis=plot.log_axis("microseconds", [3, 10, 30, 100, 300]),
        yaxis=plot.name_axis(),
    )


def name_of(work: str, form: str) -> str:
    """What a call is called on the axis."""
    return NAMES.get((work, form)) or f"{WORK_NAMES[work]}, {FORMS[form]}"
