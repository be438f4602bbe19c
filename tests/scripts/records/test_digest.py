"""A record goes stale when what its run executed has changed, and when nothing else has."""

import pytest

from scripts.records import RecordError
from scripts.records.cells import Cells
from scripts.records.source.digest import compare, digest
from scripts.records.source.library import Library

BEFORE = {
    "base.py": '''
"""What the others stand on."""

import math

LEAST = 2
LIMIT = LEAST + 6
TILES = {64: (2, 4), 128: (4, 8)}
UNREAD = 5


def inner(x):
    return x + math.pi


def clamp(x: float, least=-LIMIT) -> float:
    """Between limits."""
    if x < least:
        raise ValueError(f"x is {x}, at least {least} is wanted{hint()}")
    return min(inner(x), LIMIT)


def hint():
    return "!"


def tile(d):
    return TILES[d]


def elsewhere(x):
    return x


def at_night(x):
    return elsewhere(x)


def never_called(x):
    return UNREAD


def chosen(x, night=False):
    return at_night(x) if night else never_called if night is None else x
''',
    "plans.py": '''
from dataclasses import dataclass

from kernels.base import LEAST
from kernels.base import clamp as limited

WIDE = 7


def marked(function):
    return function


@dataclass(frozen=WIDE > 6)
class Plan:
    """How the work is cut."""

    rows: int
    stages: int = LEAST

    @property
    def block(self) -> int:
        return limited(self.rows * self.stages)

    def other(self):
        return 1


@marked
def plan(rows):
    return Plan(rows).block


def registered(x):
    return plan(x)


registered.register(plan)
''',
    "compiled.py": """
from typing import NamedTuple

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.language import aggregate

from kernels.base import tile

ROWS = gl.constexpr(64)
COUNTS = ["heads"]
OPERATORS = ()


class Ring(NamedTuple):
    tiles: int


@gluon.constexpr_function
def words_of(d):
    return rounded(d) * 2


def rounded(d):
    return d


@gluon.jit
def plus(a, b):
    return a + b


@aggregate
class Accumulator:
    total: gl.tensor

    @gluon.constexpr_function
    def __init__(self, total):
        self.total = total

    @gluon.jit
    def add(self, x):
        return plus(self.total, scaled(x))


@gluon.jit
def scaled(x):
    return x * 3


@gluon.jit
def helper(x, FACTOR: gl.constexpr = 1):
    return x * FACTOR


@gluon.jit
def given(x):
    return x + 10


OPERATORS = (given,)


@gluon.jit
def bystander(x):
    return x


@triton.autotune(configs=[1, 2], key=[])
@gluon.jit(do_not_specialize=COUNTS)
def kernel(x, heads, WORDS: gl.constexpr):
    sum = Accumulator(helper(x, words_of(WORDS)))
    return Ring(sum.add(ROWS)), OPERATORS[0](x)


def launch(x):
    kernel[(tile(64),)](x, 1, 2)
    return bystander
""",
}
SNIPPET = """# %% [markdown]
# # Plans

# %% tags=["plan"]
from kernels.base import chosen
from kernels.plans import plan

print(plan(3), chosen(1))

# %% tags=["launch"]
from kernels.compiled import launch

launch(2)
"""
EXECUTED = """
base:clamp base:inner base:tile base:chosen
plans:marked plans:Plan.block plans:plan
compiled:kernel compiled:launch
"""
EXECUTED = [f"kernels.{name}" for name in EXECUTED.split()]


class Rooms:
    """The modules of kernels/ as text, the snippet, and the digest of its run."""

    def __init__(self, root):
        self.root = root
        self.files = dict(BEFORE)
        self.snippet = SNIPPET
        self.then = digest(self.library(), self.cells(), EXECUTED)

    def library(self):
        for path in (self.root / "kernels").rglob("*.py"):
            path.unlink()
        for name, text in self.files.items():
            path = self.root / "kernels" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return Library(self.root)

    def cells(self):
        return Cells("plans", self.snippet)

    def edit(self, file, old, new):
        text = self.snippet if file == "snippet" else self.files[file]
        assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {file}"
        if file == "snippet":
            self.snippet = text.replace(old, new)
        else:
            self.files[file] = text.replace(old, new)

    def move(self, definition, source, target, imports=""):
        """A piece of text from one module to another, the others importing it from there."""
        self.edit(source, definition, "")
        self.files[target] = imports + self.files.get(target, "") + definition

    def changed(self):
        return compare(self.library(), self.cells(), self.then)[0]


@pytest.fixture
def rooms(tmp_path):
    return Rooms(tmp_path)


def test_the_digest_has_what_ran_and_what_that_reaches(rooms):
    names = {
        "base": "LEAST LIMIT TILES chosen clamp inner tile",
        "plans": "Plan Plan.block WIDE marked plan",
        "compiled": "Accumulator Accumulator.__init__ Accumulator.add COUNTS OPERATORS ROWS Ring given helper kernel "
        "launch plus rounded scaled words_of",
    }
    places = {f"kernels.{module}:{name}" for module, found in names.items() for name in found.split()}
    assert set(rooms.then) == places | {"cells", "names"}
    assert rooms.changed() == []


FREE = {
    "a comment": ("base.py", "LEAST = 2", "LEAST = 2  # not less"),
    "a docstring": ("base.py", '"""Between limits."""', '"""Between two limits,\n\n    both kept.\n    """'),
    "a module's docstring": ("base.py", '"""What the others stand on."""', ""),
    "a docstring of a class": ("plans.py", '"""How the work is cut."""', '"""Otherwise."""'),
    "a line break": ("base.py", "return min(inner(x), LIMIT)", "return min(\n        inner(x), LIMIT\n    )"),
    "a type hint": ("base.py", "(x: float, least=-LIMIT) -> float", "(x: int, least: int = -LIMIT)"),
    "a hint of a property": ("plans.py", "def block(self) -> int", "def block(self) -> float"),
    "an error message": ("base.py", "at least {least} is wanted", "it must not be below {least}"),
    "the type of an error": ("base.py", "raise ValueError(", "raise TypeError("),
    "a condition of an error": ("base.py", "if x < least", "if x <= least"),
    "a new check": ("base.py", "return x + math.pi", "if x > UNREAD: raise ValueError(x)\n    return x + math.pi"),
    "what only an error message calls": ("base.py", 'return "!"', 'return "?"'),
    "a function that did not run": ("base.py", "return UNREAD", "return UNREAD + 1"),
    "a constant that nothing read": ("base.py", "UNREAD = 5", "UNREAD = 6"),
    "a new function": ("base.py", "def hint():", "def new():\n    return LIMIT\n\n\ndef hint():"),
    "a method that did not run": ("plans.py", "return 1", "return 2"),
    "a new method": ("plans.py", "def other(self):", "def another(self):\n        pass\n\n    def other(self):"),
    "a kernel that was not launched": (
        "compiled.py",
        "def bystander(x):\n    return x",
        "def bystander(x):\n    return -x",
    ),
    "an unrelated import": ("base.py", "import math", "import csv\nimport math"),
    "what did not run of who registered": ("plans.py", "return plan(x)", "return plan(2 * x)"),
    "a comment in a cell": ("snippet", "launch(2)", "launch(2)  # two"),
    "prose": ("snippet", "# # Plans", "# # Of plans"),
    "imports in another order": (
        "snippet",
        "from kernels.base import chosen\nfrom kernels.plans import plan",
        "from kernels.plans import plan\nfrom kernels.base import chosen",
    ),
}


@pytest.mark.parametrize("what", FREE)
def test_what_did_not_run_stales_nothing(rooms, what):
    rooms.edit(*FREE[what])
    assert rooms.changed() == []


DEAR = {
    "a function that ran": ("base.py", "return x + math.pi", "return x - math.pi", "base:inner"),
    "a constant that it reads": ("base.py", "LIMIT = LEAST + 6", "LIMIT = LEAST + 7", "base:LIMIT"),
    "a constant of that constant": ("base.py", "LEAST = 2", "LEAST = 3", "base:LEAST"),
    "an entry of a table that it reads": ("base.py", "64: (2, 4)", "64: (2, 8)", "base:TILES"),
    "a default": ("base.py", "night=False", "night=0", "base:chosen"),
    "a default's name": ("base.py", "least=-LIMIT", "least=-LEAST", "base:clamp"),
    "a decorator": ("plans.py", "@marked\n", "", "plans:plan"),
    "a decorator that ran": ("plans.py", "return function", "return lambda x: function(x)", "plans:marked"),
    "a decorator's argument": ("plans.py", "frozen=WIDE > 6", "frozen=WIDE > 5", "plans:Plan"),
    "what a decorator's argument reads": ("plans.py", "WIDE = 7", "WIDE = 8", "plans:WIDE"),
    "a field": ("plans.py", "rows: int", "rows: float", "plans:Plan"),
    "a field's default": ("plans.py", "stages: int = LEAST", "stages: int = 2", "plans:Plan"),
    "a property that ran": ("plans.py", "self.rows * self.stages", "self.rows + self.stages", "plans:Plan.block"),
    "a method that Python calls": (
        "plans.py",
        "    def other(self):",
        "    def __post_init__(self):\n        pass\n\n    def other(self):",
        "plans:Plan",
    ),
    "a method that may stand in for one of a base": (
        "compiled.py",
        "    tiles: int",
        "    tiles: int\n\n    def index(self): ...",
        "compiled:Ring",
    ),
    "a launched kernel": ("compiled.py", "helper(x, words_of(WORDS))", "helper(x, WORDS)", "compiled:kernel"),
    "its decorator's argument": ("compiled.py", 'COUNTS = ["heads"]', "COUNTS = []", "compiled:COUNTS"),
    "its configurations": ("compiled.py", "configs=[1, 2]", "configs=[1]", "compiled:kernel"),
    "what is constant when it is compiled": ("compiled.py", "WORDS: gl.constexpr", "WORDS", "compiled:kernel"),
    "its helper": ("compiled.py", "return x * FACTOR", "return x + FACTOR", "compiled:helper"),
    "its helper's default": ("compiled.py", "FACTOR: gl.constexpr = 1", "FACTOR: gl.constexpr = 2", "compiled:helper"),
    "its constant": ("compiled.py", "gl.constexpr(64)", "gl.constexpr(32)", "compiled:ROWS"),
    "a function that it calls while it is compiled": (
        "compiled.py",
        "rounded(d) * 2",
        "rounded(d) * 4",
        "compiled:words_of",
    ),
    "a function of that function": (
        "compiled.py",
        "def rounded(d):\n    return d",
        "def rounded(d):\n    return -d",
        "compiled:rounded",
    ),
    "a method of an aggregate": (
        "compiled.py",
        "plus(self.total, scaled(x))",
        "plus(self.total, x)",
        "compiled:Accumulator.add",
    ),
    "what that method calls": ("compiled.py", "return x * 3", "return x * 4", "compiled:scaled"),
    "how an aggregate is made": (
        "compiled.py",
        "self.total = total",
        "self.total = -total",
        "compiled:Accumulator.__init__",
    ),
    "a field of an aggregate": ("compiled.py", "total: gl.tensor", "total: gl.constexpr", "compiled:Accumulator"),
    "a field of a tuple": ("compiled.py", "tiles: int", "tiles: int\n    full: int", "compiled:Ring"),
    "a function handed over in a tuple": ("compiled.py", "return x + 10", "return x + 11", "compiled:given"),
}


@pytest.mark.parametrize("what", DEAR)
def test_what_ran_or_was_read_stales_the_record_and_is_named(rooms, what):
    *edit, place = DEAR[what]
    rooms.edit(*edit)
    assert f"kernels.{place}" in rooms.changed()


CAUGHT = "try:\n    launch(2)\nexcept ValueError as error:\n    print(error)"


@pytest.mark.parametrize(
    "cell, function",
    [
        (CAUGHT, ""),
        (CAUGHT.replace("ValueError", "(KeyError, Exception)"), ""),
        (CAUGHT.replace(" ValueError as error", ""), ""),
        ("launch(2)", "try:\n        x\n    except ValueError:\n        return None\n    "),
    ],
    ids=["by the snippet", "as a kind of it", "as anything", "by a function that ran"],
)
def test_a_message_counts_where_it_may_be_caught(rooms, cell, function):
    rooms.edit("snippet", "launch(2)", cell)
    rooms.edit("base.py", "    return x + math.pi", f"    {function}return x + math.pi")
    rooms.then = digest(rooms.library(), rooms.cells(), EXECUTED)
    rooms.edit("base.py", "at least {least} is wanted", "it must not be below {least}")
    assert rooms.changed() == ["what is raised and caught"]


def test_a_check_counts_where_its_error_may_be_caught(rooms):
    rooms.edit("snippet", "launch(2)", CAUGHT)
    rooms.then = digest(rooms.library(), rooms.cells(), EXECUTED)
    rooms.edit("base.py", "if x < least", "if x <= least")
    assert rooms.changed() == ["what is raised and caught"]


@pytest.mark.parametrize("cell", [CAUGHT.replace("Value", "Type"), CAUGHT.replace("print(error)", "raise")])
def test_a_message_that_is_not_caught_does_not_count(rooms, cell):
    rooms.edit("snippet", "launch(2)", cell)
    rooms.then = digest(rooms.library(), rooms.cells(), EXECUTED)
    rooms.edit("base.py", "at least {least} is wanted", "it must not be below {least}")
    assert rooms.changed() == []


REBOUND = {
    "another function of that name": (
        "plans.py", "from kernels.base import clamp as limited", "from kernels.other import clamp as limited",
    ),
    "another constant of that name": ("plans.py", "from kernels.base import LEAST", "from kernels.other import LEAST"),
    "another package": ("base.py", "import math", "import cmath as math"),
    "a builtin's name": ("base.py", "LEAST = 2", "LEAST = 2\nmin = max"),
    "in the snippet": ("snippet", "from kernels.base import chosen", "from kernels.other import chosen"),
    "a function that did not run": ("base.py", "never_called if night", "elsewhere if night"),
    "in a tuple": ("compiled.py", "OPERATORS = (given,)", "OPERATORS = (helper,)"),
}  # fmt: skip


@pytest.mark.parametrize("what", REBOUND)
def test_a_name_that_comes_to_stand_for_something_else_stales_the_record(rooms, what):
    rooms.files["other.py"] = "LEAST = 4\n\n\ndef clamp(x):\n    return x\n\n\ndef chosen(x):\n    return x\n"
    assert rooms.changed() == []
    rooms.edit(*REBOUND[what])
    assert rooms.changed()


def test_twins_are_told_apart_by_what_their_names_stand_for(rooms):
    """The same text in two files, each with a constant of its own."""
    rooms.files["first.py"] = "SCALE = 1\n\n\ndef scale(x):\n    return x * SCALE\n"
    rooms.files["second.py"] = "SCALE = 2\n\n\ndef scale(x):\n    return x * SCALE\n"
    rooms.files["both.py"] = "from kernels.first import scale\n\n\ndef both(x):\n    return scale(x)\n"
    rooms.edit("snippet", "launch(2)", "launch(2)\nfrom kernels.both import both\nfrom kernels.second import scale")
    ran = ["kernels.first:scale", "kernels.second:scale", "kernels.both:both"]
    rooms.then = digest(rooms.library(), rooms.cells(), [*EXECUTED, *ran])
    assert rooms.changed() == []
    rooms.edit("both.py", "kernels.first", "kernels.second")
    assert rooms.changed() == ["what a name stands for"]


MOVES = {
    "a function": ("def inner(x):\n    return x + math.pi\n", "base.py", "moved.py", "import math\n\n\n"),
    "a constant": ("LEAST = 2\n", "base.py", "moved.py", ""),
    "a table, into a package": ("TILES = {64: (2, 4), 128: (4, 8)}\n", "base.py", "deep/tiles.py", ""),
    "a function that did not run": ('def hint():\n    return "!"\n', "base.py", "moved.py", ""),
}


@pytest.mark.parametrize("what", MOVES)
def test_a_move_to_another_file_stales_nothing(rooms, what):
    definition, source, target, imports = MOVES[what]
    rooms.move(definition, source, target, imports)
    name = definition.removeprefix("def ").split("(")[0].split(" ")[0]
    module = f"kernels.{target.removesuffix('.py').replace('/', '.')}"
    rooms.files[source] = f"from {module} import {name}\n{rooms.files[source]}"
    assert rooms.changed() == []


def test_a_whole_room_moves(rooms):
    for name in BEFORE:
        rooms.files[f"room/{name}"] = rooms.files.pop(name).replace("from kernels.", "from kernels.room.")
    rooms.snippet = rooms.snippet.replace("from kernels.", "from kernels.room.")
    changed, executed = compare(rooms.library(), rooms.cells(), rooms.then)
    assert changed == []
    assert {"kernels.room.base:clamp", "kernels.room.plans:Plan.block", "kernels.room.compiled:helper"} <= executed


def test_a_change_that_comes_with_a_move_stales_the_record(rooms):
    rooms.move("def inner(x):\n    return x + math.pi\n", "base.py", "moved.py", "import math\n\n\n")
    rooms.edit("moved.py", "math.pi", "math.e")
    rooms.files["base.py"] = f"from kernels.moved import inner\n{rooms.files['base.py']}"
    assert rooms.changed() == ["kernels.base:inner"]


def test_a_function_that_went_away_stales_the_record(rooms):
    rooms.files["plans.py"] = rooms.files["plans.py"].replace("clamp", "hint")
    rooms.edit("base.py", "def clamp(x: float, least=-LIMIT) -> float:", "def renamed(x, least=-LIMIT):")
    assert "kernels.base:clamp" in rooms.changed()


def test_what_is_registered_with_a_function_belongs_to_it(rooms):
    rooms.then = digest(rooms.library(), rooms.cells(), [*EXECUTED, "kernels.plans:registered"])
    rooms.edit("plans.py", "registered.register(plan)", "registered.register(Plan)")
    assert rooms.changed() == ["kernels.plans:registered"]


def test_what_a_library_wrote_stands_for_its_class(rooms):
    """The methods that a dataclass or a named tuple gets have no text of their own."""
    rooms.edit("snippet", "launch(2)", "launch(3)")
    without = digest(rooms.library(), rooms.cells(), ["kernels.base:inner"])
    found = digest(rooms.library(), rooms.cells(), ["kernels.base:inner", "kernels.plans:Plan.__init__", "kernels.x:f"])
    assert found.keys() - without.keys() == {"kernels.plans:Plan", "kernels.plans:WIDE", "kernels.base:LEAST"}


@pytest.mark.parametrize(
    "old, new",
    [
        ("launch(2)", "launch(3)"),
        ('tags=["launch"]', 'tags=["start"]'),
        ("\nlaunch(2)", '\n# %% tags=["more"]\nlaunch(2)'),
        ('\n# %% tags=["launch"]\n', "\n"),
    ],
    ids=["a cell", "a tag", "one cell more", "cells joined"],
)
def test_a_changed_cell_stales_the_record(rooms, old, new):
    rooms.edit("snippet", old, new)
    assert rooms.changed() == ["the snippet itself"]


def test_the_order_of_cells_counts():
    cells = ['# %% tags=["a"]\n1\n', '# %% tags=["b"]\n1\n']
    assert Cells("one", "\n".join(cells)).digest != Cells("other", "\n".join(reversed(cells))).digest


def test_a_string_that_a_cell_displays_is_not_a_docstring():
    one, other = (Cells("shown", f'# %% tags=["a"]\n"{text}"\n') for text in ("one", "other"))
    assert one.digest != other.digest


@pytest.mark.parametrize(
    "line",
    [
        "math.sqrt = abs",
        "math.table[0] = 1",
        "math.register(1)",
        "setattr(math, 'sqrt', abs)",
        "print('hello')",
        "for math.x in (): pass",
        "if math:\n    math.sqrt = abs",
        "del math.sqrt",
    ],
)
@pytest.mark.parametrize("file", ["__init__.py", "base.py"])
def test_a_module_that_changes_what_others_do_is_refused(rooms, file, line):
    """Whether or not the run imports it: ``kernels/__init__.py`` is always run."""
    rooms.files[file] = f"import math\n{rooms.files.get(file, '')}\n{line}\n"
    with pytest.raises(RecordError, match=r"(?s)kernels.*which no record would notice"):
        rooms.library()


@pytest.mark.parametrize(
    "line",
    [
        "def patch():\n    math.sqrt = abs\npatch()",
        "done = setattr(math, 'sqrt', abs)",
        "done = [setattr(math, 'sqrt', abs)]",
        "def late(then=setattr(math, 'sqrt', abs)): pass",
        "if setattr(math, 'sqrt', abs): pass",
        "assert not setattr(math, 'sqrt', abs)",
        "@math.register\ndef late(): pass",
        "class Late(metaclass=math.Kind): pass",
        "with math.patched: pass",
    ],
)
@pytest.mark.parametrize("package", ["__init__.py", "deep/__init__.py"])
def test_a_package_that_calls_something_is_refused(rooms, package, line):
    """It runs before each module in it, and no run depends on what it defines."""
    rooms.files[package] = f"import math\n{line}\n"
    with pytest.raises(RecordError, match=r"(?s)kernels.*which no record would notice"):
        rooms.library()


def test_a_package_may_import_and_define(rooms):
    rooms.files["__init__.py"] = (
        "try:\n    import math\nexcept ImportError as error:\n    raise ImportError(str(error)) from error\n"
        "NAMES = {'a': 'b'}\n\n\ndef __getattr__(name):\n    return sorted(NAMES)\n"
    )
    rooms.library()


@pytest.mark.parametrize(
    "line",
    [
        "import kernels",
        "import kernels.base as base",
        "from kernels import base",
        "from . import base",
        "from .base import inner",
    ],
)
def test_an_import_that_no_digest_can_follow_is_refused(rooms, line):
    rooms.edit("plans.py", "return limited(self.rows * self.stages)", line)
    with pytest.raises(RecordError, match=r"kernels\.plans: `.*` hides a module"):
        rooms.library()


def test_a_name_that_is_not_there_is_named_with_who_imports_it(rooms):
    rooms.edit("plans.py", "import clamp as limited", "import clam as limited")
    with pytest.raises(RecordError, match=r"kernels\.plans imports clam from kernels\.base, which does not define it"):
        rooms.changed()


def test_a_method_reaches_its_class(rooms):
    rooms.files["kinds.py"] = "class Kind:\n    LIMIT = 1\n\n    def limit(self):\n        return self.LIMIT\n"
    rooms.then = digest(rooms.library(), rooms.cells(), [*EXECUTED, "kernels.kinds:Kind.limit"])
    rooms.edit("kinds.py", "LIMIT = 1", "LIMIT = 2")
    assert rooms.changed() == ["kernels.kinds:Kind"]


def test_an_import_inside_a_function_is_followed(rooms):
    rooms.files["late.py"] = "def late():\n    from kernels.base import UNREAD as number\n\n    return number\n"
    rooms.then = digest(rooms.library(), rooms.cells(), [*EXECUTED, "kernels.late:late"])
    assert rooms.changed() == []
    rooms.edit("base.py", "UNREAD = 5", "UNREAD = 6")
    assert rooms.changed() == ["kernels.base:UNREAD"]


def test_a_name_of_a_function_that_did_not_run_may_not_become_anothers(rooms):
    rooms.files["late.py"] = "from kernels.base import hint as later\n\n\ndef late(x):\n    return x or later()\n"
    rooms.then = digest(rooms.library(), rooms.cells(), [*EXECUTED, "kernels.late:late"])
    rooms.edit("late.py", "import hint as", "import elsewhere as")
    assert rooms.changed() == ["what a name stands for"]


def test_what_try_says_of_imports_does_not_depend_on_which(rooms):
    start = (
        "try:\n    from kernels.base import hint, tile\n\n    THERE = True\nexcept ImportError:\n    THERE = False\n"
    )
    rooms.files["late.py"] = f"{start}\n\ndef late():\n    return THERE\n"
    rooms.then = digest(rooms.library(), rooms.cells(), [*EXECUTED, "kernels.late:late"])
    rooms.edit("late.py", "import hint, tile", "import hint")
    assert rooms.changed() == []


def test_an_import_behind_try_is_what_is_imported(rooms):
    old = "from kernels.base import clamp as limited"
    rooms.edit("plans.py", old, f"try:\n    {old}\n    THERE = True\nexcept ImportError:\n    THERE = False")
    assert rooms.changed() == []


def test_what_stands_in_for_a_missing_import_counts(rooms):
    old = "from kernels.base import clamp as limited"
    rooms.edit("plans.py", old, f"try:\n    {old}\nexcept ImportError:\n    limited = None")
    assert rooms.changed()
