"""A tree's bytes tell two programs apart, leave out what no run depends on, and are the same on every Python."""

import ast
import subprocess
from pathlib import Path

import pytest

from scripts.records.source.trees import digest_of, free_names, stripped, walked

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
FROZEN = "2996eddd4d658c3bc52a86ff8b00db0989f328c57553dc4795f9521971a87646"

# Our scripts alone, with nothing installed: the other Pythons have neither jupytext nor nbformat.
ALONE = """
import pathlib, sys, types
sys.modules["jupytext"] = types.ModuleType("jupytext")
sys.modules["nbformat"] = types.SimpleNamespace(NotebookNode=dict)
"""


def run_alone(python: str, script: str, *arguments: str) -> str:
    command = [python, "-W", "ignore", "-c", ALONE + script, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def test_the_bytes_of_every_syntax_are_the_same_on_every_python(any_python):
    script = """
from scripts.records.source.trees import digest_of, free_names, stripped
tree = stripped(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"), "every syntax")
print(digest_of([tree, sorted(free_names(tree.body))]))
"""
    assert run_alone(any_python, script, str(HERE / "every_syntax.txt")) == FROZEN


def test_the_digests_of_kernels_are_the_same_on_every_python(any_python):
    script = """
from scripts.records.source.library import Library
from scripts.records.source.trees import digest_of
library = Library(pathlib.Path.cwd())
found = [each for module in library.modules.values() for each in module.definitions.values()]
print(len(found) > 300, digest_of([[each.place, each.digest, each.names] for each in found]))
"""
    from scripts.records.source.library import Library

    found = [each for module in Library(ROOT).modules.values() for each in module.definitions.values()]
    here = digest_of([[each.place, each.digest, each.names] for each in found])
    assert run_alone(any_python, script) == f"True {here}"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 1.0"),
        ("x = 1", "x = True"),
        ("x = 1", "x = -1"),
        ("x = 'a'", "x = b'a'"),
        ("x = ''", "x = None"),
        ("x = ...", "x = None"),
        ("x = 'None'", "x = None"),
        ("x = 1e999", "x = 1e308"),
        ("x = '\\ud800'", "x = '\\ud801'"),
        ("x = ['ab', 'c']", "x = ['a', 'bc']"),
        ("{**a, 'b': 1}", "{a: 1, 'b': 1}"),
        ("f'{a}b'", "f'{a}' + 'b'"),
        ("f'{a}'", "f'{a!r}'"),
        ("f'{a:1}'", "f'{a:2}'"),
        ("f'{a}b{c}'", "f'{a}{c}b'"),
        ("def f(a, *, b): ...", "def f(a, b): ..."),
        ("def f(a, b=1): ...", "def f(a=1, b=2): ..."),
        ("def f(*, a, b=1): ...", "def f(*, a=1, b): ..."),
        ("def f(): ...", "async def f(): ..."),
        ("def f(): ...", "@g\ndef f(): ..."),
        ("def f(): return 1", "def f(): return"),
        ("def f():\n  1\n  'text'", "def f():\n  1\n  'other'"),
        ("def f():\n  if a: raise b\n  else: c", "def f():\n  if not a: raise b\n  else: c"),
        ("def f():\n  if a: raise b\n  elif c: d", "def f():\n  if c: d"),
        ("def f():\n  if a: return b", "def f(): pass"),
        ("def f():\n  if a:\n    if b: return c\n    raise d", "def f(): pass"),
        ("def f():\n  for a in b:\n    if a:\n      if c: break\n      raise d", "def f():\n  for a in b: pass"),
        ("def f():\n  if (a := b): raise c", "def f(): pass"),
        ("def f():\n  if (yield a): raise b", "def f(): pass"),
        ("def f():\n  while a: raise b", "def f():\n  while c: raise b"),
        ("def f():\n  raise b", "def f(): pass"),
        ("def f():\n  assert a", "def f():\n  assert b"),
        ("@jit\ndef f(a: constexpr): ...", "@jit\ndef f(a): ..."),
        ("@jit\ndef f(a):\n  B: constexpr = a", "@jit\ndef f(a):\n  B = a"),
        ("class C:\n  a: int", "class C:\n  a: float"),
        ("class C:\n  a: int", "class C:\n  b: int"),
        ("from a import b", "from .a import b"),
        ("import a as b", "import a"),
        ("[a for a in b]", "(a for a in b)"),
        ("x[1:]", "x[:1]"),
        ("a < b", "a <= b"),
        ("while a:\n  break", "while a:\n  pass"),
    ],
)
def test_two_programs_have_two_digests(one, other):
    assert digest_of(stripped(one, "one")) != digest_of(stripped(other, "other"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1  # a comment", "x = (\n    1)"),
        ("def f():\n  'A docstring.'\n  return 1", "def f(): return 1"),
        ("def f():\n  'A docstring.'", "def f(): pass"),
        ("class C:\n  'A docstring.'\n  a = 1", "class C:\n  a = 1"),
        ("def f(a: int, *b: str, c: float = 1) -> int: ...", "def f(a, *b, c=1): ..."),
        ("def f():\n  x: int = 1\n  y: str\n  return x", "def f():\n  x = 1\n  return x"),
        ("@cache\ndef f(a: int) -> int: ...", "@cache\ndef f(a): ..."),
        ("class C:\n  @property\n  def f(self) -> int: ...", "class C:\n  @property\n  def f(self): ..."),
        ("x: Final = 1", "x = 1"),
        ("def f():\n  if a: raise ValueError(f'{a} is wrong') from b", "def f():\n  if a: raise TypeError"),
        ("def f():\n  if a: raise b", "def f():\n  if not a: raise b"),
        ("def f():\n  if a(): raise b\n  return c", "def f():\n  return c"),
        ("def f():\n  if a:\n    if b:\n      c = d\n    raise e(c)", "def f(): pass"),
        ("def f():\n  if a: b\n  elif c: raise d", "def f():\n  if a: b"),
        ("for a in b:\n  if a: raise c", "for a in b: pass"),
        ("def f():\n  assert a, 'a message'", "def f():\n  assert a, other(a)"),
        ("from kernels.a import b, c", "from kernels.a import b\nfrom kernels.d import c"),
    ],
)
def test_what_no_run_depends_on_is_left_out(one, other):
    assert digest_of(stripped(one, "one").body) == digest_of(stripped(other, "other").body)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("def f(a, b=C): return a + b + D", "C D"),
        ("@E\ndef f(): F = 1; return F", "E"),
        ("def f():\n  def g(h): return h + I\n  return g", "I"),
        ("def f(): return [j for j in K], lambda l: l + M", "K M"),
        ("def f(): return [n for n in n]", "n"),
        ("m = {n: K for n in L}", "K L"),
        ("async def f(): return [n async for n in L] + [[m for m in n] for n in K]", "K L"),
        ("def f():\n  [n for n in ()]\n  return n", "n"),
        ("def f():\n  global P\n  P += 1\n  return P", "P"),
        ("def f(): return f()", "f"),
        ("class Q(R):\n  s = T\n  def u(self): return s + V", "R T V s"),
        ("def f(w: X): raise Y(Z)", ""),
        ("def f():\n  if w > X: raise Y(Z)", ""),
        ("a = b.c(d)['e']", "b d"),
        ("from kernels.a import g\nh = 1", ""),
    ],
)
def test_the_names_that_are_read_of_the_module(source, names):
    assert sorted(free_names(stripped(source, "source").body)) == names.split()


def test_a_tree_is_walked_as_python_walks_it():
    tree = ast.parse((HERE / "every_syntax.txt").read_text(encoding="utf-8"))
    assert walked(tree) == [*ast.walk(tree)]


def test_a_string_of_code_is_refused_with_where_it_stands():
    with pytest.raises(SyntaxError) as error:
        stripped("def", "kernels.wrong")
    assert error.value.filename == "kernels.wrong"
