"""How long memory and multiplying would take: the model beside the chapter's worked example."""

from scripts.chapters.first_kernel import worked
from tests.site.live.harness import OracleCheck, per_case


@per_case
def times(l2):
    """In milliseconds, at so many terabytes a second."""
    return {
        "memory": worked.requested_gigabytes() / l2,
        "multiplying": worked.milliseconds_of_clocks(worked.FP32_CLOCKS),
    }


CHECKS = [
    OracleCheck("where_time_goes: times", times, lambda: [[1], [8.47], [20]], ("[256, 132, 1.98]", "[256, 132, 1.83]"), rel_tol=1e-12,
        other_mistakes=(("gigabytes / l2", "gigabytes / 8.47"), ("HEAD_DIM * 2)", "HEAD_DIM)"), ("HEAD_DIM * BYTES", "HEAD_DIM"))),
]  # fmt: skip
