"""A name belongs to the module that binds it, or to its function; one that means two things belongs to neither."""

import ast

import pytest

from scripts.records.qualified_names import qualify_all


@pytest.mark.parametrize(
    "text, qualified",
    [
        ("a = 1\nb = a", "m:a = 1\nm:b = m:a"),
        ("a = 1\n\ndef f():\n    return a", "m:a = 1\n\ndef m:f():\n    return m:a"),
        ("a = 1\n\ndef f():\n    a = 2\n    return a", "m:a = 1\n\ndef m:f():\n    a = 2\n    return a"),
        ("def f(a):\n    return lambda b: a", "def m:f(m:1:a):\n    return lambda b: m:1:a"),
        ("def f(a):\n    return [a for a in a]", "def m:f(a):\n    return [a for a in a]"),
        ("def f(a):\n    return 1\nf(a=2)", "def m:f(a):\n    return 1\nm:f(a=2)"),
        ("def f(a):\n    return 1\nf(**{'a': 2})", "def m:f(a):\n    return 1\nm:f(**{'a': 2})"),
        ("import n\nn.b + n.c.b", "import n as m:n\nm:n.n:b + m:n.n:c.b"),
        ("from n import b as c\nc", "from n import n:b as m:c\nm:c"),
        (
            "class A:\n    a = 1\n\n    def f(self):\n        return A.a",
            "class m:A:\n    a = 1\n\n    def f(self):\n        return m:A.a",
        ),
    ],
)  # fmt: skip
def test_a_name_has_what_it_belongs_to(text, qualified):
    trees = {"m": ast.parse(text), "n": ast.parse("b = c = 1")}
    qualify_all(trees)
    assert ast.unparse(trees["m"]) == qualified
