"""How far the reader is: kept beside the reader's files, printed as a table."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from scripts.labs.lab_info import LabInfo, chapters

FILE_NAME = "progress.json"


def read(folder: Path) -> dict[str, dict]:
    """Returns for each lab, by its slug, the count of tries and the digests of the last file that passed and failed."""
    try:
        return json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def record_try(folder: Path, info: LabInfo, passed: bool) -> None:
    """Adds one try of a lab."""
    progress = read(folder)
    entry = progress.setdefault(info.slug, {"tries": 0, "passed": ""})
    entry["tries"] += 1
    entry["failed"] = "" if passed else digest(folder / info.file)
    if passed:
        entry["passed"] = digest(folder / info.file)
    (folder / FILE_NAME).write_text(json.dumps(progress, indent=1), encoding="utf-8")


def digest(file: Path) -> str:
    """Returns the SHA-256 of what's in a file, by which a changed solution is known."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def status_of(folder: Path, info: LabInfo, progress: dict[str, dict]) -> str:
    """The status of a lab for the table, in a few words."""
    file, entry = folder / info.file, progress.get(info.slug, {"tries": 0, "passed": ""})
    if not file.is_file():
        return "no file"
    if entry["passed"]:
        if entry["passed"] == digest(file):
            return "passed"
        return "passed once, fails now" if entry.get("failed") == digest(file) else "passed once, changed since"
    if file.read_bytes() == info.start.read_bytes():
        return "not begun"
    return f"tried {entry['tries']} times" if entry["tries"] != 1 else "tried once"


def table(folder: Path, labs: list[LabInfo]) -> str:
    """A line a lab, and how many are passed."""
    progress, chapter_names = read(folder), chapters()
    statuses = [status_of(folder, info, progress) for info in labs]
    width = max(len(info.title) for info in labs)
    lines = [f" N  {'lab':{width}}  chapter  minutes  status"]
    for info, status in zip(labs, statuses, strict=True):
        chapter = chapter_names.index(info.chapter) or "primer"  # which is chapter 0
        lines.append(f"{info.number:2d}  {info.title:{width}}  {chapter!s:>7}  {info.minutes:7d}  {status}")
    passed = statuses.count("passed")
    return "\n".join([*lines, f"{passed} of {len(labs)} passed."])
