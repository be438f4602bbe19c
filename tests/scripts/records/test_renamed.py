"""A renaming keeps records and outcomes, and nothing else does."""

import json
import shutil

import pytest

from scripts.records import METADATA, RecordError, kernel_outcomes
from scripts.records.digest import Modules
from scripts.records.renamed import Renaming, carry_over

OLD = 'def triple(x):\n    return 3 * x\n\n\nPAIR = triple(1), "kernels.base.triple"\n'
NEW = OLD.replace("triple", "threefold")
SNIPPET = "snippets.chapter.one"


@pytest.fixture
def trees(project, tmp_path):
    """A handbook in miniature, old and new; the old one's base module has ``OLD``, and one snippet a record of it."""
    project.write("kernels/base.py", OLD)
    project.snippet("one", "from kernels.base import triple\n\nprint(triple(3))")
    project.fake_record("one", executed=["kernels.base:triple"])
    shutil.copytree(project.root, tmp_path / "old")
    project.write("kernels/base.py", NEW)
    return tmp_path / "old", project


def test_a_record_of_what_is_only_renamed_stays_current(trees):
    old, project = trees
    project.edit("snippets/chapter/one.py", "triple", "threefold")
    assert project.reader().inspect("one").fault
    renaming = Renaming(old, project.root)
    assert renaming.changed == {f"{module}:triple": f"{module}:threefold" for module in ("kernels.base", SNIPPET)}
    assert carry_over(old, project.root, renaming) == ["one"]
    record = project.reader().inspect("one")
    assert not record.fault
    notebook = json.loads(project.path("one").read_text())
    assert notebook["metadata"][METADATA]["executed"] == ["kernels.base:threefold"]
    assert "triple" not in json.dumps(notebook["cells"])
    assert carry_over(old, project.root, renaming) == []


def test_a_record_that_was_stale_stays_so(trees):
    old, project = trees
    (old / "snippets/chapter/one.py").write_text(
        '# %% tags=["only"]\nfrom kernels.base import triple\n\nprint(triple(4))\n'
    )
    project.snippet("one", "from kernels.base import threefold\n\nprint(threefold(4))")
    assert carry_over(old, project.root, Renaming(old, project.root)) == []
    assert project.reader().inspect("one").fault


def test_an_outcome_of_what_is_only_renamed_stays_current(trees):
    old, project = trees
    test = "from kernels.base import {0}\n\n\ndef test_{0}():\n    assert {0}(1) == 2\n"
    file = "tests/kernels/test_base.py"
    (old / file).parent.mkdir(parents=True, exist_ok=True)
    (old / file).write_text(test.format("triple"))
    project.write(file, test.format("threefold"))
    project.edit("snippets/chapter/one.py", "triple", "threefold")
    ran = {"gpu": "NVIDIA H200", "interpreter": False, "commit": "0123abcd"}
    outcome = {"digest": kernel_outcomes.digest_of_file(Modules(old), file), "ran": ran}
    outcome |= {"passed": {"test_triple": 1}, "skipped": {"needs a triple": {"test_triple[odd]": 1}}}
    kernel_outcomes.save_outcomes(project.root, kernel_outcomes.TESTS, {"files": {file: outcome}})
    # test_triple isn't triple: a test has its own name, renamed by itself
    assert carry_over(old, project.root, Renaming(old, project.root)) == ["one", file]
    current, waiting = kernel_outcomes.current_and_waiting(project.root, Modules(project.root))
    assert file not in waiting
    assert current[file]["passed"] == {"test_threefold": 1}
    assert current[file]["skipped"] == {"needs a triple": {"test_threefold[odd]": 1}}


OTHER = """from kernels.base import triple as of_base


def triple(x, y=1):
    return of_base(x) + y


def square(threefold):
    return triple(threefold), of_base(threefold)
"""


def test_of_two_that_are_spelt_alike_one_may_be_renamed(trees):
    old, project = trees
    (old / "kernels/other.py").write_text(OTHER)
    project.write("kernels/other.py", OTHER.replace("import triple as of_base", "import threefold as of_base"))
    project.edit("snippets/chapter/one.py", "triple", "threefold")
    renaming = Renaming(old, project.root)
    executed = "kernels.base:triple kernels.other:triple kernels.other.triple triple"
    assert renaming.apply(executed) == "kernels.base:threefold kernels.other:triple kernels.other.triple triple"
    assert carry_over(old, project.root, renaming) == ["one"]


def test_a_parameter_that_is_spelt_as_a_function_may_be_renamed(trees):
    old, project = trees
    (project.root / "kernels/base.py").write_text(OLD)
    text = "def product(triple, by):\n    return triple * by\n"
    (old / "kernels/other.py").write_text(text)
    project.write("kernels/other.py", text.replace("triple", "factor").replace("product", "times"))
    renaming = Renaming(old, project.root)
    function = {"kernels.other:product": "kernels.other:times"}
    assert (
        renaming.changed == function | {"kernels.other:1:triple": "kernels.other:1:factor"}
        and renaming.apply("triple") == "triple"
    )


def test_a_parameter_that_a_call_names_is_renamed_wherever_it_is_written(trees):
    old, project = trees
    text = "def product(number):\n    return number\n\n\nRESULT = product(number=1)\n"
    (old / "kernels/other.py").write_text(text)
    project.edit("snippets/chapter/one.py", "triple", "threefold")
    project.write("kernels/other.py", text.replace("number", "factor"))
    assert Renaming(old, project.root).names["number"] == "factor"
    project.write("kernels/other.py", text.replace("number", "factor", 2))
    with pytest.raises(RecordError, match="factor has another origin than number had"):
        Renaming(old, project.root)


@pytest.mark.parametrize(
    "text, why",
    [
        (
            OTHER.replace("import triple as of_base", "import threefold as triple").replace("of_base", "triple"),
            "both called triple now",
        ),
        (
            OTHER.replace("import triple", "import threefold").replace("return triple(", "return of_base("),
            "triple is of_base there",
        ),
        (OTHER.replace("import triple", "import threefold").replace("triple(", "threefold("), "another origin"),
        (OTHER, "triple is triple there and threefold elsewhere"),
    ],
    ids=["hidden", "the other", "captured by a parameter", "forgotten"],
)
def test_a_use_that_changes_from_one_to_the_other_is_refused(trees, text, why):
    old, project = trees
    (old / "kernels/other.py").write_text(OTHER)
    project.write("kernels/other.py", text)
    project.edit("snippets/chapter/one.py", "triple", "threefold")
    with pytest.raises(RecordError, match=why):
        Renaming(old, project.root)


def test_a_formatter_may_sort_and_join_imports_again(trees):
    old, project = trees
    imports = "from kernels.base import PAIR, triple\nfrom kernels.base import triple as other\n"
    (old / "kernels/other.py").write_text(imports + "RESULT = other(triple(1)), PAIR\n")
    imports = "from kernels.base import threefold, PAIR, threefold as again\n"
    project.write("kernels/other.py", imports + "RESULT = again(threefold(1)), PAIR\n")
    project.edit("snippets/chapter/one.py", "triple", "threefold")
    assert carry_over(old, project.root, Renaming(old, project.root)) == ["one"]


def test_a_fixture_is_renamed_with_the_parameters_of_its_tests(trees):
    old, project = trees
    text = "import pytest\n\n\n@pytest.fixture\ndef number():\n    return 1\n"
    text += "\n\ndef test_one(number):\n    assert number\n"
    (old / "tests/test_base.py").write_text(text)
    project.edit("snippets/chapter/one.py", "triple", "threefold")
    project.write("tests/test_base.py", text.replace("number", "figure"))
    assert Renaming(old, project.root).names["tests.test_base:number"] == "tests.test_base:figure"
    project.write("tests/test_base.py", text.replace("def number", "def figure"))
    with pytest.raises(RecordError, match="number has another origin than number had"):
        Renaming(old, project.root)


@pytest.mark.parametrize(
    "text, why",
    [
        (NEW.replace("3 * x", "4 * x"), "more than names: 3 is now 4"),
        (NEW.replace("threefold(1)", "triple(1)"), "triple has another origin than triple had"),
        (OLD.replace("triple", "print"), ": triple is triple there and print elsewhere"),
        (
            NEW.replace("PAIR", "threefold"),
            "PAIR and triple are both called threefold|triple and PAIR are both called threefold",
        ),
        (
            NEW.replace("kernels.base.threefold", "kernels.base.fourfold"),
            "'kernels.base.triple' is now 'kernels.base.fourfold'",
        ),
        (NEW + "LAST = 1\n", "more than names: None is now LAST = 1"),
    ],
)
def test_what_is_more_than_a_renaming_is_refused(trees, text, why):
    old, project = trees
    project.write("kernels/base.py", text)
    if "print" not in text:
        project.edit("snippets/chapter/one.py", "triple", "threefold")
    with pytest.raises(RecordError, match=why):
        Renaming(old, project.root)


def test_a_name_from_elsewhere_can_not_be_renamed(trees):
    old, project = trees
    (old / "kernels/base.py").write_text("import torch\n\n" + OLD)
    project.write("kernels/base.py", "import flame\n\n" + OLD)
    for root in (old, project.root):
        for path in [*root.glob("kernels/**/*.py"), *root.glob("tests/**/*.py"), *root.glob("snippets/**/*.py")]:
            if path.name != "base.py" and "torch" in path.read_text():
                path.unlink()
    with pytest.raises(RecordError, match="torch isn't defined in kernels, snippets, tests"):
        Renaming(old, project.root)


USER = "from kernels.base import {0}\nfrom kernels.other import square\n\nTEXT = square({0}(1)), 'kernels.other'\n"


def move_other(trees):
    """Gives ``kernels.other``, which ``kernels.user`` imports, the name ``kernels.another``."""
    old, project = trees
    for root in (old, project.root):
        (root / "kernels/other.py").write_text("def square(x):\n    return x * x\n")
    (project.root / "kernels/other.py").rename(project.root / "kernels/another.py")
    (old / "kernels/user.py").write_text(USER.format("triple"))
    project.write("kernels/user.py", USER.format("threefold").replace("kernels.other", "kernels.another"))
    project.edit("snippets/chapter/one.py", "triple", "threefold")
    return old, project


def test_a_module_may_get_another_name(trees):
    old, project = move_other(trees)
    renaming = Renaming(old, project.root)
    assert renaming.moves == {"kernels.other": "kernels.another"}
    assert (
        renaming.apply("kernels.other:square kernels.other square") == "kernels.another:square kernels.another square"
    )
    assert carry_over(old, project.root, renaming) == ["one"]


def test_a_module_that_changes_when_its_name_does_is_refused(trees):
    old, project = move_other(trees)
    project.edit("kernels/another.py", "x * x", "x + x")
    with pytest.raises(RecordError, match=r"kernels/another\.py is on one side alone"):
        Renaming(old, project.root)


def test_a_module_that_moves_to_another_folder_is_refused(trees):
    old, project = move_other(trees)
    (project.root / "kernels/sub").mkdir()
    (project.root / "kernels/another.py").rename(project.root / "kernels/sub/another.py")
    with pytest.raises(RecordError, match=r"kernels/other\.py is on one side alone"):
        Renaming(old, project.root)


def test_an_import_of_another_module_is_no_move(trees):
    old, project = move_other(trees)
    project.edit("kernels/user.py", "from kernels.another", "from kernels.base")
    with pytest.raises(RecordError, match="more than names"):
        Renaming(old, project.root)
