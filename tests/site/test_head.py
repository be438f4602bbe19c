"""The head of every page: its own title, a description, and a card with its full address."""

from bs4 import BeautifulSoup

from scripts.records import ROOT
from scripts.site.meta import head

BASE = "http://127.0.0.1/handbook/"
CHAPTERS = {path.parent.name for path in (ROOT / "docs" / "chapters").glob("*/index.md")}


def test_every_page_has_a_title_a_description_and_a_card(site, pages):
    titles, alternatives = {}, {}
    for page in pages:
        head_alone = (site / page / "index.html").read_text().partition("</head>")[0]
        html = BeautifulSoup(head_alone, "html.parser").head
        meta = {tag.get("property") or tag["name"]: tag["content"] for tag in html.select("meta[property], meta[name]")}
        titles.setdefault(html.title.get_text(), []).append(page)
        name = meta["og:site_name"]
        assert meta["og:title"] == meta["twitter:title"]
        assert html.title.get_text() == (f"{meta['og:title']} - {name}" if page else name)
        assert meta["description"] == meta["og:description"] == meta["twitter:description"]
        assert 25 < len(meta["description"]) <= head.MAX_LENGTH, page
        assert not set("<>\\") & set(meta["description"]), page
        assert meta["og:url"] == BASE + page
        folder, _, name = page.partition("/")
        card = f"assets/cards/{name.partition('/')[0]}.png" if folder == "chapters" else "assets/card.png"
        assert meta["og:image"] == meta["twitter:image"] == BASE + card and (site / card).is_file()
        assert meta["og:image:alt"] == meta["twitter:image:alt"]
        assert meta["twitter:card"] == "summary_large_image" and len(meta["og:image:alt"]) > 40
        alternatives.setdefault(card, set()).add(meta["og:image:alt"])
    assert alternatives.keys() == {"assets/card.png"} | {f"assets/cards/{name}.png" for name in CHAPTERS}
    assert len(set.union(*alternatives.values())) == len(alternatives), "two cards are said to show the same"
    assert [found for found in titles.values() if len(found) > 1] == [], "two pages have one title"


def test_a_snippet_is_described_by_its_own_words(site):
    html = BeautifulSoup((site / "snippets/online_softmax/index.html").read_text(), "html.parser")
    assert "make run" not in html.find("meta", attrs={"name": "description"})["content"]


def test_a_description_is_whole_sentences_of_the_first_paragraph_that_says_something():
    long = "word " * 60
    before = "<p><em>Before: chapter 1.</em></p>"
    assert (
        head.description(f'{before}<p class="hb-provenance">ran</p><p>One <b>&amp;</b> two. Three?</p>')
        == "One & two. Three?"
    )
    assert head.description(f"<p>Short one. {long}end.</p>") == "Short one."
    cut = head.description(f"<p>{long}.</p>")
    assert cut.endswith("word…") and len(cut) <= head.MAX_LENGTH
    assert head.description("<p>Version 3.11 is what is wanted here:</p>") == "Version 3.11 is what is wanted here"
    assert (
        head.description("<live-piece><p>A button.</p></live-piece><details><p>Before.</p></details><p>It is slow.</p>")
        == "It is slow."
    )
    assert (
        head.description("<p>It is slow.</p>", "Why?") == "Why? It is slow." and head.description("", "Why?") == "Why?"
    )
    assert head.description("") == ""
