"""A digest changes with the code that a run reaches, not with what's said about it, and is the same on every Python."""

import subprocess
from pathlib import Path

import pytest

from scripts.records import ROOT, RecordError
from scripts.records.digest import Modules, significant_text

FUNCTION = """from m import total
def f(x=1):
    '''Says.'''
    if x:
        raise ValueError("no")
    part = other = x
    return [total(part, by="a#b") for each in x]  # plus
"""
IGNORED_CHANGES = [
    ("  # plus", ""),
    ("    return", "    # first\n\n    return"),
    ("Says.", "Tells.\n\n    At # length."),
]
IGNORED_CHANGES += [('"no"', '"né"'), ('("no")', '(\n            f"{x} # is\\n no", "number"\n        )')]
IGNORED_CHANGES += [
    ("(part, by", "(\n        part,\n        by"),
    ("part", "share"),
    ("each", "row"),
    ("other", "rest"),
]
COUNTED_CHANGES = [
    ("ValueError", "TypeError"),
    ('("no")', '("no") from error'),
    ("x=1", "x=2"),
    ("a#b", "a#c"),
    ("if", "while"),
]
COUNTED_CHANGES += [
    ("def f", "@cache\ndef f"),
    ("'''Says.'''", "y = 'Says.'"),
    ("m import", "n import"),
    ("by=", "to="),
]
COUNTED_CHANGES += [("x", "y"), ("total(", "other("), ("total(part", "total(other"), ("part", "total"), ("part", "x")]
COUNTED_CHANGES += [("    part", "    global part\n    part"), ("return", "class part: each = 1\n    return")]


@pytest.mark.parametrize("old, new", IGNORED_CHANGES + COUNTED_CHANGES)
def test_what_runs_counts_and_what_is_said_does_not(old, new):
    assert old in FUNCTION
    assert (significant_text(FUNCTION.replace(old, new)) == significant_text(FUNCTION)) == (
        (old, new) in IGNORED_CHANGES
    )


def test_what_others_can_name_is_no_local():
    for text in (
        "x = {0} = 1",
        "class C:\n def f(self, {0}): pass",
        "def f():\n import m as {0}\n {0} = {0}.{0}",
        "def f():\n global {0}\n {0} = 1",
        "{0} = 1\ndef f(x):\n return [{0} for {0} in {0}]",
        "def f():\n class C:\n  {0} = 1\n return C, lambda: {0}",
        "def f():\n def {0}(): pass\n return {0}",
        "def f(x):\n match x:\n  case {{'a': {0}, **rest}}: return {0}",
        "def f():\n try: pass\n except E as {0}: return {0}",
    ):
        assert significant_text(text.format("a")) != significant_text(text.format("b")), text


BASE, CHAIN, OTHER = "kernels/base.py", "snippets/chapter/chain.py", {"kernels.base", "kernels.other"}
ANY = OTHER | {"kernels.bench.hardware", "kernels.bench.parallel.ranks"}
_, _, FIRST, LAST = (Path(__file__).parent / "miniature" / CHAIN).read_text().split("# %% ")
CHANGES = [
    (BASE, "times=2", "times=3", {"kernels.base"}),
    ("kernels/launch.py", "return x", "return -x", {"kernels.launch"}),
    ("kernels/other.py", "1", "2", set()),
    (BASE, "class", "def f():\n    import kernels.other as another\n\n\nclass", OTHER),
    (BASE, "class", "from kernels import other\n\n\nclass", OTHER),
    (BASE, "class", "from kernels import triple\n\n\nclass", ANY | {"kernels"}),  # a name that only the package knows
    (BASE, "[count]", '["-m", "kernels.other"]', OTHER),
    (BASE, "[count]", '["""\nfrom kernels.other import other\n"""]', OTHER),
    (BASE, "[count]", '["tests.conftest"]', {"kernels.base", "tests.conftest"}),
    (BASE, "class", 'def f():\n    """Beside kernels.other."""\n\n\nclass', {"kernels.base"}),
    (BASE, "see kernels.other", "there is kernels.other", set()),
    (CHAIN, "apart(6)", "apart(7)", {"snippet"}),
    (CHAIN, '"methods"', '"renamed"', {"snippet"}),
    (CHAIN, f"{FIRST}# %% {LAST}", f"{LAST}# %% {FIRST}", {"snippet"}),
    (CHAIN, "# # A chain", "# # The chain", set()),
    ("snippets/chapter/count.txt", "2", "3", {"count.txt"}),
]


@pytest.mark.parametrize("path, old, new, changed", CHANGES)
def test_a_change_is_named(project, path, old, new, changed):
    before = project.reader().digests("chain")
    project.edit(path, old, new)
    after = project.reader().digests("chain")
    assert {part for part in before.keys() | after.keys() if before.get(part) != after.get(part)} == changed


def test_a_name_of_the_packages_list_leads_to_its_module_and_needs_no_list(project):
    before = project.reader().digests("chain")
    project.edit("kernels/__init__.py", 'nothing."""', 'nothing."""\n\nLIST = {"triple": "other", "no": "no"}')
    project.edit(BASE, "class", "from kernels import triple\n\n\nclass")
    assert project.reader().digests("chain").keys() - before.keys() == {"kernels.other"}
    project.edit("kernels/__init__.py", '"no": "no"', '"more": "other"')
    assert project.reader().digests("chain").keys() - before.keys() == {"kernels.other"}
    project.edit("kernels/__init__.py", '"triple": "other"', '"triple": "bench.hardware"')
    assert project.reader().digests("chain").keys() - before.keys() == {"kernels.bench.hardware"}


@pytest.mark.parametrize("content, message", [(b"x = (\n", "never closed"), (b"\0", "null"), (b"\xe9", "isn't UTF-8")])
def test_a_module_that_is_not_python_is_named(project, content, message):
    (project.root / BASE).write_bytes(content)
    with pytest.raises(RecordError, match=f"kernels.base.*{message}"):
        project.reader().digests("chain")


# The other Pythons have no nbformat, which scripts.records imports: here the package is empty.
ALONE = """
import sys, types
from pathlib import Path
package = sys.modules["scripts.records"] = types.ModuleType("scripts.records")
package.__path__ = ["scripts/records"]
from scripts.records.digest import Modules, significant_text
modules = Modules(Path.cwd())
print([significant_text(sys.argv[1]), modules.digests(modules.reachable("import kernels, tests.conftest"))])
"""
SYNTAX = (
    FUNCTION
    + '''
async def g(*, é: "text" = f"{1 + len('x')!r:>{8}} # {{no comment}}", **rest):
    r"""A docstring."""; return [y async for y in x if (z := y)]  # é
class C:
    b"no docstring"
    def h(self): "One line."; raise (  # why
        TypeError)("é", x=")")
'''
)


def test_a_digest_is_the_same_on_every_python(any_python):
    modules = Modules(ROOT)
    here = modules.digests(modules.reachable("import kernels, tests.conftest"))
    run = subprocess.run([any_python, "-W", "error", "-c", ALONE, SYNTAX], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == f"{[significant_text(SYNTAX), here]}\n" and len(here) > 50, run.stderr
