"""A snippet to unpack and run: the script, its notebook, and the kernels that it imports, directly or not."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from scripts.records import Reader
from scripts.records.source.trees import walked
from scripts.site.fences import outputs

README = """Run it, with torch, triton and numpy installed, in two processes:

    {command}

Each has a GPU of its own if there are two; otherwise they compute on the CPU. For four GPUs write 4.
"""
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # so that the same contents make the same archive


def write(archive: Path, name: str, reader: Reader) -> None:
    """Write ``archive``, which unpacks to the folder NAME; the notebook stands beside the archive.

    `python NAME/NAME.py` finds kernels/, because it lies beside the script.  A snippet that runs in one process a GPU
    comes with a file that says how to start it.
    """
    script = reader.path(name)
    files = {f"{name}.py": script, f"{name}.ipynb": archive.with_suffix(".ipynb"), "LICENSE": reader.root / "LICENSE"}
    for path in imported(script, reader.root):
        files[path.relative_to(reader.root).as_posix()] = path
    contents = {inside: path.read_bytes() for inside, path in files.items()}
    if reader.cells(name).in_ranks:
        contents["README.txt"] = README.format(command=outputs.by_hand(name, in_ranks=True)).encode()
    with ZipFile(archive, "w") as packed:
        for inside, content in sorted(contents.items()):
            entry = ZipInfo(f"{name}/{inside}", LONG_AGO)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, content)


def imported(script: Path, root: Path) -> set[Path]:
    """The files of kernels/ that a script imports, at its top or inside a function, directly or not."""
    found: set[Path] = set()
    waiting = [script]
    while waiting:
        modules = modules_in(waiting.pop().read_text(encoding="utf-8"))
        new = {path for module in modules for path in files_of(module, root)} - found
        found |= new
        waiting += new
    return found


@cache
def modules_in(source: str) -> list[str]:
    """The modules of kernels/ that a source imports; of one text worked out once."""
    return [
        node.module
        for node in walked(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "kernels"
    ]


def files_of(module: str, root: Path) -> list[Path]:
    """The file of a module, and those of the packages around it."""
    folder = root.joinpath(*module.split("."))
    packages = [path / "__init__.py" for path in (folder, *folder.parents) if path.is_relative_to(root / "kernels")]
    return [path for path in (folder.with_suffix(".py"), *packages) if path.is_file()]
