"""The workflows pin actions by commit, have time limits, and give jobs that run the code no right to write."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml

FILES = sorted((Path(__file__).parents[1] / ".github" / "workflows").iterdir())
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in FILES}
JOBS = {
    f"{name}, {job}": settings for name, workflow in WORKFLOWS.items() for job, settings in workflow["jobs"].items()
}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_actions_are_named_by_commit_with_their_version_behind_it(path):
    uses = re.findall(r"uses: (.*)", path.read_text())
    assert uses
    assert [
        action for action in uses if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", action)
    ] == []


def test_an_action_has_one_commit():
    uses = {action for path in FILES for action in re.findall(r"uses: (.*)", path.read_text())}
    assert len(uses) == len({action.partition("@")[0] for action in uses})


@pytest.mark.parametrize("job", JOBS)
def test_each_job_has_a_time_limit(job):
    assert 0 < JOBS[job]["timeout-minutes"] <= 120


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_no_workflow_may_write_but_in_a_job_that_says_so(workflow):
    assert WORKFLOWS[workflow]["permissions"] in ({}, {"contents": "read"})


JOBS_RUNNING_CODE = [
    job for job, settings in JOBS.items() if any("make" in step.get("run", "").split() for step in settings["steps"])
]


def test_jobs_that_run_the_code_are_found():
    of_every_page = ["every-page, test", "every-page, mutants", "every-page, labs"]
    assert [*of_every_page, "record, record", "site, test", "site, build"] == JOBS_RUNNING_CODE


@pytest.mark.parametrize("job", JOBS_RUNNING_CODE)
def test_what_runs_the_code_can_write_nowhere(job):
    assert set(JOBS[job].get("permissions", {}).values()) <= {"read"}
    assert "token" not in str(JOBS[job]["steps"])
    checkouts = [step for step in JOBS[job]["steps"] if step.get("uses", "").startswith("actions/checkout@")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False]


def test_a_job_on_a_self_hosted_runner_only_reads():
    assert [job for job, settings in JOBS.items() if "self-hosted" in settings["runs-on"]] == ["record, record"]
    assert JOBS["record, record"]["permissions"] == {"contents": "read"}


@pytest.fixture
def open_change(tmp_path):
    """A function that opens a change from an artifact of these files, as the workflow does.

    Returns the changed files by branch, and the calls of `gh`.
    """
    clone, artifact, programs = tmp_path / "clone", tmp_path / "temp" / "records", tmp_path / "bin"
    identity = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@localhost"}
    identity |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@localhost"}
    environment = os.environ | identity | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_WORKSPACE": str(clone),
        "BRANCH": "records-1",
        "RUN": "run 1",
    }  # fmt: skip

    def sh(command, cwd=clone):
        return subprocess.run(
            ["bash", "-e", "-c", command], cwd=cwd, env=environment, check=True, capture_output=True, text=True
        ).stdout

    sh("git init -q --bare origin.git; git clone -q origin.git clone; mkdir -p bin temp/records", tmp_path)
    sh("mkdir -p snippets/a tests/kernels; echo old | tee snippets/a/b.record.ipynb tests/x.py")
    sh("git add . && git commit -qm first && git push -q origin HEAD")
    (programs / "gh").write_text(f"#!/bin/sh\necho $1 $2 >> {tmp_path}/calls\n")
    (programs / "gh").chmod(0o755)

    def run_workflow_step(**files):
        for path, text in files.items():
            (artifact / path).parent.mkdir(parents=True, exist_ok=True)
            (artifact / path).write_text(text)
        (artifact / "snippets" / "link.record.ipynb").symlink_to("/etc/hostname")
        (step,) = [step for step in JOBS["record, open"]["steps"] if step.get("name") == "Open a change"]
        sh(step["run"])
        assert sh("git status --porcelain") == ""
        branches = sh("git branch --list 'records-*' --format='%(refname:short)'", tmp_path / "origin.git").split()
        changed = {branch: sh(f"git diff --name-only HEAD~ origin/{branch}").split() for branch in branches}
        calls = tmp_path / "calls"
        return changed, calls.read_text().splitlines() if calls.exists() else []

    return run_workflow_step


def test_only_records_are_taken_from_an_artifact(open_change):
    files = [
        "snippets/a/b.record.ipynb",
        "snippets/new/c.record.ipynb",
        "tests/kernels/outcomes.json",
        "tests/kernels/random_cases.json",
        "snippets/a/b.py",
        "snippets/a/x.record.ipynb.py",
        "tests/kernels/other.record.json",
        "tests/x.py",
        "scripts/setup.py",
        "scripts/d.record.ipynb",
        ".github/workflows/site.yml",
        "Makefile",
    ]
    changed, gh_calls = open_change(**dict.fromkeys(files, "new"))
    assert changed == {"records-1": files[:4]}
    assert gh_calls == ["pr create", "workflow run"]


def test_no_change_is_opened_where_nothing_was_stale(open_change):
    assert open_change(**{"snippets/a/b.record.ipynb": "old\n", "Makefile": "new"}) == ({}, [])
