"""The test server behaves as a static host does, below its path and no further."""

import gzip
import urllib.error
import urllib.request

import pytest

from scripts.speed.static_server import serve


@pytest.fixture
def url(tmp_path):
    site = tmp_path / "site"
    (site / "chapter").mkdir(parents=True)
    (site / "index.html").write_text("home " * 100)
    (site / "chapter" / "index.html").write_text("chapter")
    (tmp_path / "secret.txt").write_text("secret")
    with serve(site) as url:
        yield url


def get(url, **headers):
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers))


def test_texts_are_compressed_only_on_request(url):
    plain, compressed = get(url), get(url, **{"Accept-Encoding": "gzip"})
    assert (plain.headers["Content-Encoding"], compressed.headers["Content-Encoding"]) == (None, "gzip")
    body = compressed.read()
    assert gzip.decompress(body) == plain.read()
    assert int(compressed.headers["Content-Length"]) == len(body) < 500


@pytest.mark.parametrize("path", ["chapter", "chapter/", "chapter/index.html"])
def test_a_page_is_found(url, path):
    assert get(url + path).read() == b"chapter"


@pytest.mark.parametrize("path", ["no", "../", "../secret.txt", "%2e%2e/secret.txt", "index.html/", "chapter/no/"])
def test_nothing_outside_the_served_folder_is_found(url, path):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(url + path)


def test_a_page_that_changes_is_served_anew(url, tmp_path):
    compressed = {"Accept-Encoding": "gzip"}
    get(url, **compressed)
    (tmp_path / "site" / "index.html").write_text("another home")
    assert gzip.decompress(get(url, **compressed).read()) == b"another home"
