"""The README's picture of the site: made here when it is missing, so `rm docs/assets/handbook.png` renews it."""

from scripts.records import ROOT

PICTURE = ROOT / "docs" / "assets" / "handbook.png"
SIZE = {"width": 1280, "height": 860}


def test_the_readme_shows_the_site(chromium, url):
    page = chromium.browser.new_page(viewport=SIZE)
    assert page.goto(f"{url}chapters/traffic/#figure-bytes_by_kernel").ok
    page.locator("#figure-bytes_by_kernel .hb-plot--drawn").wait_for()
    screenshot = page.screenshot()
    page.close()
    if not PICTURE.exists():
        PICTURE.write_bytes(screenshot)
    picture = PICTURE.read_bytes()
    assert picture[16:24] == screenshot[16:24]  # width and height, where a PNG has them
    assert "docs/assets/handbook.png" in (ROOT / "README.md").read_text(encoding="utf-8")
