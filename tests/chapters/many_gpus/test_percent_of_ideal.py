"""The figure of the measured ideal is drawn also while the run of more GPUs is awaited."""

from scripts import records
from scripts.chapters.many_gpus.figures import percent_of_ideal
from tests.chapters.conftest import EARLIER
from tests.chapters.figure_menus import menus


def test_without_a_record_of_more_gpus_two_are_drawn_and_the_missing_record_is_reported(monkeypatch):
    read_record = records.read

    def read_without_more_gpus(name):
        record = read_record(name)
        if name == "more_gpus":
            raise records.Missing("snippet more_gpus has never run")
        return record

    monkeypatch.setattr(records, "read", read_without_more_gpus)
    with EARLIER.track_reads() as read_names:
        labels, _ = menus(percent_of_ideal.figure())["Setting"]
    assert read_names == {"more_gpus", "parallel_speed"}
    assert labels and all(label.startswith("2 GPUs, ") for label in labels)
