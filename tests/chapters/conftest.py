"""Every figure as a page draws it: from today's records, and from snippets/earlier if its page is an unchecked one.

One whose record is missing or stale is skipped, with the reason: the tests of snippets say what to run.
"""

import re

import pytest

from scripts import records
from scripts.facts.unchecked_pages import is_unchecked
from scripts.records import ROOT
from scripts.site.fences import figures

TODAY, EARLIER = records.Reader(ROOT), records.Reader(ROOT, earlier=True)


@pytest.fixture(scope="module", autouse=True)
def table():
    """``records.table``, as figures and their tests call it."""
    recorded = records.table

    def rows_or_skip(snippet, name):
        try:
            return recorded(snippet, name)
        except (records.Missing, records.Stale) as error:
            pytest.skip(str(error))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "table", rows_or_skip)
        yield


def figure_params():
    """(name, reader) of each figure, once for every reader that a page may give it."""
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")]
    unchecked = "\n".join(page for page in pages if is_unchecked(page))
    earlier = set(re.findall(r"^``` figure.*\n(\w+)", unchecked, re.MULTILINE))
    for name in figures.paths(ROOT):
        yield pytest.param((name, TODAY), id=name)
        if name in earlier:
            yield pytest.param((name, EARLIER), id=f"{name}-earlier")


@pytest.fixture(scope="module", params=figure_params())
def figure(request):
    return load_figure(*request.param)


def load_figure(name, reader):
    with reader.track_reads():
        return figures.load(name, ROOT).figure()
