"""What the first page claims in words."""

from tests.claims.rows import row


def a_tenth_of_the_time():
    """In the first run the kernel takes 0.095 to 0.105 of the time of the three lines. In words: tenth."""
    lines, kernel = (row("flash_first", "times", form=form)["median"] for form in ("attention", "flash_attention"))
    assert 0.095 < kernel / lines < 0.105
