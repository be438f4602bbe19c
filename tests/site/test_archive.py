"""The archive that a snippet's page offers runs once it's unpacked, without the repository."""

import subprocess
import sys
from zipfile import ZipFile

import pytest

from scripts.records import ROOT, Reader
from scripts.site.pages import archive

READER = Reader()
SNIPPETS = ["flash_by_hand", "hopper_budget"]  # in Triton's interpreter, and what only a GPU launches


def write_archive(tmp_path, name):
    (tmp_path / f"{name}.ipynb").write_text("{}")
    archive.write(tmp_path / f"{name}.zip", name, READER)
    return tmp_path / f"{name}.zip"


@pytest.mark.parametrize("name", SNIPPETS)
def test_an_archive_runs_when_unpacked(tmp_path, name):
    pytest.importorskip("torch")
    ZipFile(write_archive(tmp_path, name)).extractall(tmp_path)
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""}
    # -P -I would hide the script's own folder; this hides the repository that the environment's Python knows.
    code = f"import sys, runpy; sys.path = [p for p in sys.path if p != {str(ROOT)!r}]; sys.path[0] = {name!r}; "
    code += f"runpy.run_path('{name}/{name}.py', run_name='__main__')"
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0 and result.stdout, result.stderr


def test_the_same_contents_make_the_same_archive(tmp_path):
    first = write_archive(tmp_path, "three_matmuls").read_bytes()
    assert write_archive(tmp_path, "three_matmuls").read_bytes() == first
    names = ZipFile(tmp_path / "three_matmuls.zip").namelist()
    assert {f"three_matmuls/{name}" for name in ("three_matmuls.py", "three_matmuls.ipynb", "LICENSE")} <= set(names)
