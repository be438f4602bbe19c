"""A figure whose record is missing or stale is skipped, with the reason: the tests of snippets say what to run."""

import pytest

from scripts import records


@pytest.fixture(scope="module", autouse=True)
def table():
    """``records.table``, as figures and their tests call it."""
    recorded = records.table

    def found(snippet, name):
        try:
            return recorded(snippet, name)
        except (records.Missing, records.Stale) as error:
            pytest.skip(str(error))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "table", found)
        yield
