"""As the real one, what the suite shares."""

import pytest


@pytest.fixture
def two():
    return 2
