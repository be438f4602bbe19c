"""What became of the kernels' tests, and of random cases of the kernels, as HTML."""

from __future__ import annotations

import ast
import json
from pathlib import Path

from markupsafe import Markup

from scripts.site.fences import symbols
from scripts.site.fences.outputs import EMPTY, head_html, notice_html, provenance_html

TO_RUN_THE_SUITE = "To run it: .venv/bin/python -m scripts.gpu_tests; make record does so too."
TO_RUN_RANDOM_CASES = "To run it: make random."


def suite_html(outcomes: dict[str, dict], root: Path) -> Markup:
    """Returns what became of each test file, with what it tests, and below it why tests were skipped."""
    rows, reasons, totals = [], [], [0, 0, 0.0]
    for path, file in outcomes.items():
        skipped = [*file["skipped"].items()]
        counts = [sum(file["passed"].values()), sum(sum(tests.values()) for _, tests in skipped), file["seconds"]]
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
        all_skipped = (
            Markup("All skipped: {}.<br>").format(skipped[0][0]) if len(skipped) == 1 and not counts[0] else ""
        )
        first = Markup("{}<br>{}<code>{}</code>").format(
            symbols.docstring_line(path, root), all_skipped, short_path(path)
        )
        rows.append(suite_row(first, counts))
        reasons += [
            Markup("<li><code>{}</code>, {}: {}</li>").format(short_path(path), test_names(tests), reason)
            for reason, tests in skipped
        ]
    table = suite_table(
        "tests/kernels", ["What is tested", "Passed", "Skipped", "Seconds"], rows, suite_row("Together", totals)
    )
    return table + (Markup("<p>Skipped, and why:</p><ul>{}</ul>").format(EMPTY.join(reasons)) if reasons else "")


def suite_table(suite: str, heads: list[str], rows: list[Markup], last: Markup) -> Markup:
    return Markup('<table data-suite="{}"><thead><tr>{}</tr></thead><tbody>{}</tbody><tfoot>{}</tfoot></table>').format(
        suite, EMPTY.join(map(head_html, heads)), EMPTY.join(rows), last
    )


def suite_row(first: str, counts: list[float]) -> Markup:
    cells = [
        Markup("<td>{}</td>").format(count if isinstance(count, int) else format(count, ".1f")) for count in counts
    ]
    return Markup("<tr><td>{}</td>{}</tr>").format(first, EMPTY.join(cells))


def short_path(path: str) -> str:
    return path.removeprefix("tests/kernels/")  # two folders may each have a test_wrong.py


def test_names(tests: dict[str, int]) -> str:
    return ", ".join(test if times == 1 else f"{test} ({times} times)" for test, times in tests.items())


def suite_ran_html(outcomes: dict[str, dict]) -> Markup:
    """Returns where and when the tests ran: the run with most of the files, then each other with its own."""
    runs: dict[str, list[str]] = {}
    for path, file in outcomes.items():
        runs.setdefault(json.dumps(file["ran"], sort_keys=True), []).append(short_path(path))
    most, *others = sorted(runs.items(), key=lambda run: -len(run[1]))
    lines = [provenance_html(json.loads(most[0]), "The GPU suite")]
    return EMPTY.join(lines + [provenance_html(json.loads(ran), f"Of it {', '.join(files)}") for ran, files in others])


def waiting_html(files: list[str], root: Path) -> Markup:
    """Returns how many tests are in no row of the table, whatever number of inputs they have, and of which files."""
    trees = (ast.parse((root / file).read_text(encoding="utf-8")) for file in files)
    functions = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    count = sum(function.name.startswith("test_") for function in functions)
    tests = "1 test function waits" if count == 1 else f"{count} test functions wait"
    return notice_html(f"{tests} for a run on a GPU: {', '.join(map(short_path, files))}. {TO_RUN_THE_SUITE}")


def random_cases_html(cases: dict) -> Markup:
    """Returns the cases of each form and how near the worst came to its budget; below it what failed."""
    forms = cases["forms"]
    rows = [case_row(name, form["cases"], form["worst"]) for name, form in forms.items()]
    total = sum(form["cases"] for form in forms.values())
    last = case_row("Together", total, max((form["worst"] for form in forms.values()), default=0.0))
    table = suite_table("tests/kernels/random_cases", ["Form", "Cases", "Largest share of the budget"], rows, last)
    summary = Markup("<p>{} of them failed. Drawn for {} seconds, from the seeds {}.</p>").format(
        cases["failed"], round(cases["seconds"]), ", ".join(map(str, cases["seeds"]))
    )
    failures = EMPTY.join(
        Markup("<li>{}, seed {}, case {}: {}</li>").format(each["form"], each["seed"], each["case"], each["why"])
        for each in cases["failures"]
    )
    return table + summary + (Markup("<p>The first that failed:</p><ul>{}</ul>").format(failures) if failures else "")


def case_row(name: str, count: int, worst: float) -> Markup:
    return Markup("<tr><td>{}</td><td>{}</td><td>{:.2f}</td></tr>").format(name, count, worst)
