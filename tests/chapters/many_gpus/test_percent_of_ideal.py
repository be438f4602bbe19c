"""The figure of the measured ideal is drawn also while the run of more GPUs is awaited."""

from scripts import records
from scripts.chapters.many_gpus.figures import percent_of_ideal
from tests.chapters.conftest import EARLIER
from tests.chapters.figure_menus import menus


def test_while_more_gpus_await_their_run_the_others_are_drawn_and_the_page_is_told_what_is_lacking(monkeypatch):
    read = records.read

    def never(name):
        record = read(name)
        if name == "more_gpus":
            raise records.Missing("snippet more_gpus has never run")
        return record

    monkeypatch.setattr(records, "read", never)
    with EARLIER.track_reads() as asked:
        labels, _ = menus(percent_of_ideal.figure())["Setting"]
    assert asked == {"more_gpus", "parallel_speed"}
    assert labels and all(label.startswith("2 GPUs, ") for label in labels)
