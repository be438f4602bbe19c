"""Packs a snippet to unpack and run: the script, its notebook, and the kernels that it imports, directly or not."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from scripts.records import Reader
from scripts.site.fences import outputs

README = """Run it, with torch, triton and numpy installed, in two processes:

    {command}

Each has a GPU of its own if there are two; otherwise they compute on the CPU. For four GPUs write 4.
"""
FIXED_DATE = (1980, 1, 1, 0, 0, 0)  # so that the same contents make the same archive


def write(archive: Path, name: str, reader: Reader) -> None:
    """Write ``archive``, which unpacks to the folder NAME; the notebook stands beside the archive.

    `python NAME/NAME.py` finds kernels/, because it lies beside the script.  A snippet that runs in one process a GPU
    comes with a file that says how to start it.
    """
    script = reader.path(name)
    files = {f"{name}.py": script, f"{name}.ipynb": archive.with_suffix(".ipynb"), "LICENSE": reader.root / "LICENSE"}
    files |= {path.name: path for path in reader.data(name)}
    for module in reader.modules.reachable(reader.snippet(name).source):
        path = reader.modules.files[module]
        files[path.relative_to(reader.root).as_posix()] = path
    contents = {path_in_archive: path.read_bytes() for path_in_archive, path in files.items()}
    if reader.snippet(name).in_ranks:
        contents["README.txt"] = README.format(command=outputs.run_command(name, in_ranks=True)).encode()
    with ZipFile(archive, "w") as zip_file:
        for path_in_archive, content in sorted(contents.items()):
            entry = ZipInfo(f"{name}/{path_in_archive}", FIXED_DATE)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            zip_file.writestr(entry, content)
