"""What only a chapter can know of its board, its figures and the search: tests/chapters/NAME/expected.toml.

labels: numbers of its board that are written nowhere else: of an axis, bits, ends of types, what a drawing counts off
figures: by the name of a figure, the numbers that it places itself, besides those of tables and powers of two
searches: what somebody types who should find this chapter first
answers: what a step of its board keeps back until `a` is pressed, since the room is asked for it. Each has the step,
    `words` as patterns, and how many `strokes` without words come with them at least.

No line names a measured number, which the next run would change: write `\\d+ ms`, or a word that stands beside it.
"""

import tomllib
from pathlib import Path

EXPECTED = {
    path.parent.name: tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted(Path(__file__).parent.glob("*/expected.toml"))
}
