"""An ``ncu`` to put on the PATH of a test."""

import pytest


@pytest.fixture
def ncu(monkeypatch, tmp_path):
    """An ``ncu`` that writes down how it was called, and says and does what it is told."""
    stub = tmp_path / "ncu"

    def says(stdout="", stderr="", status=0):
        (tmp_path / "stdout").write_text(stdout)
        (tmp_path / "stderr").write_text(stderr)
        stub.write_text(
            f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {tmp_path}/arguments\n(pwd; echo $LC_ALL) > {tmp_path}/around\n"
            f"cat {tmp_path}/stdout\ncat {tmp_path}/stderr >&2\nexit {status}\n"
        )
        stub.chmod(0o755)
        return tmp_path

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return says
