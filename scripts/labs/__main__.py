"""``make labs`` puts the files to write into labs/; ``make lab N=3`` grades one, by its number or its name."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from scripts.labs import grader, lab_info, progress


def main(query: str, root: Path = lab_info.ROOT) -> int:
    """0 if the lab is there, and right."""
    folder = root / "labs"
    if not query:
        print(put_start_files(folder))
        return 0
    try:
        lab = lab_info.find(query)
    except lab_info.LabError as error:
        print(error)
        return 2
    try:
        passed, message = grader.grade_file(lab, folder / lab.file)
    except KeyboardInterrupt:
        print("Stopped, and not judged.")
        return 130
    print(message)
    if (folder / lab.file).is_file():
        progress.record_try(folder, lab, passed)
    return 0 if passed else 1


def put_start_files(folder: Path) -> str:
    """Puts the files to write into the folder, leaves alone those that are there, and says which; then the table."""
    folder.mkdir(exist_ok=True)
    labs, new_files, begun_files = lab_info.all_labs(), [], []
    for lab in labs:
        file = folder / lab.file
        if file.exists():
            begun_files += [] if file.read_bytes() == lab.start.read_bytes() else [lab.file]
            continue
        shutil.copyfile(lab.start, file)
        new_files.append(lab.file)
    lines = [f"Made in {folder.name}/: {', '.join(new_files)}."] if new_files else []
    if begun_files:
        lines.append(f"Left alone in {folder.name}/, since you have written there: {', '.join(begun_files)}.")
        lines.append("To begin one anew, remove its file and call `make labs` again.")
    return "\n".join(
        [*lines, "", progress.table(folder, labs), "", "Grade one: make lab N=4, or make lab N=vector-add."]
    )


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
