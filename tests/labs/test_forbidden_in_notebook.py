"""A notebook's functions are refused for the same reasons as the command's file."""

import linecache

import pytest

from scripts.labs import forbidden_in_notebook, grade, lab_info

DOT = "import torch\n\n\ndef dot(x, y):\n    return (x * y).sum()\n\n\n"
SOFTMAX = "def softmax_row(scores):\n    return share(scores)\n\n\n"
SHARE = "def share(scores):\n    return scores.exp()\n"


def run(source):
    """The names that a cell defines; its lines are kept, as Jupyter keeps them."""
    name = "<cell>"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    names = {"__name__": "__main__"}
    exec(compile(source, name, "exec"), names)
    return names


def why_forbidden(source):
    lab = lab_info.find("dot-and-softmax")
    names = run(source)
    return forbidden_in_notebook.why_forbidden(lab, {name: names[name] for name in lab.functions})


def test_functions_that_use_what_is_allowed_may_be_graded():
    assert why_forbidden(DOT + SOFTMAX + SHARE) == ""
    assert why_forbidden("from scripts.labs import grade\n" + DOT + SOFTMAX + SHARE) == "", (
        "the cell has it, no function"
    )


@pytest.mark.parametrize(
    "old, new, expected",
    [
        ("(x * y).sum()", "x @ y", "dot, line 5 of its cell: it uses @, and to write that by hand is the task."),
        ("scores.exp()", "scores.softmax(0)", "share, line 13 of its cell: it uses softmax, and to write"),
        ("import torch\n", "from torch import softmax as share_of; import torch\n", ""),
        ("return share(scores)", "from torch import softmax as f; return f(scores, 0)", "softmax_row, line 9 of its"),
        ("import torch\n", "from torch import dot as share\n", "softmax_row: it uses dot, and to write that by hand"),
        ("import torch\n", "from kernels.softmax import softmax as share\n", "it imports kernels.softmax. A lab"),
        ("import torch\n", "import kernels.softmax as ours\n", ""),
        (
            SHARE,
            "import kernels.softmax as ours\n" + SHARE.replace("scores.exp", "ours.exp"),
            "it imports kernels.softm",
        ),
    ],
)
def test_what_is_the_task_is_refused_wherever_it_stands(old, new, expected):
    whole = DOT + SOFTMAX + (SHARE if "as share\n" not in new else "")
    found = why_forbidden(whole.replace(old, new))
    assert expected in found if expected else not found


def test_a_grade_in_a_notebook_says_so_and_runs_nothing(capsys):
    names = run(DOT.replace("(x * y).sum()", "print('run'), x @ y") + SOFTMAX + SHARE)
    grade("dot-and-softmax", dot=names["dot"], softmax_row=names["softmax_row"])
    assert capsys.readouterr().out == "dot, line 5 of its cell: it uses @, and to write that by hand is the task.\n"
