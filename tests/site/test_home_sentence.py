"""The sentence of the home page: its model is kernels.reference.attention, and it answers mouse, thumb and keyboard."""

import re
import shutil

import pytest
import torch
from bs4 import BeautifulSoup

from kernels.reference import attention, weights
from scripts.records import ROOT
from scripts.site.live import Pieces

LIVE = ROOT / "docs" / "live"
MODEL = "home.model.js"
ENDINGS = ["soft", "tired"]
IT_INDEX = 7
MISTAKES = {  # what it must not compute
    "not divided": (" / Math.sqrt(query.length)", ""),
    "by the number of words": ("Math.sqrt(query.length)", "Math.sqrt(words.length)"),
    "queries as keys": ("({ key }) => dot(query, key)", "({ query: key }) => dot(query, key)"),
    "keys as values": ("({ value }) => value", "({ key }) => key"),
}


@pytest.fixture(scope="module")
def pieces() -> Pieces:
    return Pieces(LIVE)


def sentences(pieces) -> list[list[dict]]:
    return pieces.calls(MODEL, "sentence", [[ending] for ending in ENDINGS])


def random_words() -> list[dict]:
    numbers = torch.randn(12, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).tolist()
    return [dict(zip(("query", "key", "value"), each, strict=True)) for each in numbers]


def agrees_with_the_library(pieces, words: list[dict]) -> bool:
    q, k, v = (
        torch.tensor([[[word[name] for word in words]]], dtype=torch.float64) for name in ("query", "key", "value")
    )
    found = pieces.calls(MODEL, "attend", [[words, asker] for asker in range(len(words))])
    shares, outputs = (torch.tensor([each[name] for each in found]).double() for name in ("shares", "output"))
    return torch.allclose(shares, weights(q, k)[0, 0], atol=1e-6) and torch.allclose(
        outputs, attention(q, k, v)[0, 0], atol=1e-5
    )


def test_each_word_computes_what_the_library_does(pieces):
    for words in (*sentences(pieces), random_words()):
        assert agrees_with_the_library(pieces, words)


@pytest.mark.parametrize("wrong", MISTAKES)
def test_a_wrong_model_is_rejected(wrong, tmp_path):
    for name in (MODEL, "attention_row.model.js"):
        shutil.copy(LIVE / name, tmp_path)
    text = (tmp_path / MODEL).read_text()
    assert MISTAKES[wrong][0] in text
    (tmp_path / MODEL).write_text(text.replace(*MISTAKES[wrong]))
    assert not agrees_with_the_library(Pieces(tmp_path), random_words())


def test_it_is_the_mat_or_the_cat_and_every_word_is_worth_ten(pieces):
    for words, takes_most_from in zip(sentences(pieces), ("mat", "cat"), strict=True):
        (row,) = pieces.calls(MODEL, "attend", [[words, IT_INDEX]])
        assert words[row["shares"].index(max(row["shares"]))]["word"] == takes_most_from
        assert {sum(word["value"]) for word in words} == {10} and sum(row["output"]) == pytest.approx(10)


def test_a_ribbon_is_as_wide_as_its_share_and_together_they_are_the_whole(pieces):
    (words, _) = sentences(pieces)
    (row,) = pieces.calls(MODEL, "attend", [[words, IT_INDEX]])
    geometry = {"length": 860, "room": 150, "down": False}
    (outlines,) = pieces.calls("home.view.js", "ribbons", [[row["shares"], IT_INDEX, geometry, 1]])
    leaves = []
    for outline, share in zip(outlines, row["shares"], strict=True):
        xs = [float(x) for x in re.findall(r"(-?[\d.]+) 150(?=[CLZ])", outline)]
        assert abs(xs[1] - xs[2]) == pytest.approx(max(60 * share, 0.75), abs=0.11)
        leaves += [xs[0], xs[3]]
    assert max(leaves) - min(leaves) == pytest.approx(60, abs=0.5)


@pytest.fixture
def sentence(visit):
    """The sentence, once it answers."""
    page = visit("")
    page.emulate_media(reduced_motion="reduce")
    found = page.locator(".sentence")
    found.scroll_into_view_if_needed()
    found.locator(".stage:enabled").wait_for()
    return found


def test_the_sentence_starts_as_it_was_drawn(site, sentence):
    drawn = BeautifulSoup((site / "index.html").read_text(), "html.parser").select_one(".sentence")
    assert drawn.fieldset.has_attr("disabled"), "it can't answer yet"
    assert sentence.evaluate("(all) => all.textContent").split() == drawn.get_text().split()
    assert sentence.locator("path").evaluate_all("(all) => all.map((each) => each.getAttribute('d'))") == [
        path["d"] for path in drawn.select("path")
    ]


def test_with_the_other_ending_it_is_the_cat(sentence):
    says, swap = sentence.get_by_role("status"), sentence.get_by_role("button")
    assert "59 % from mat" in says.inner_text() and swap.inner_text() == "Change soft to tired"
    sentence.locator(".word").nth(2).click()
    assert "54 % from cat" in says.inner_text()
    swap.press("Enter")
    assert "59 % from cat" in says.inner_text() and "animal" in says.inner_text()
    assert sentence.get_by_role("radio").nth(IT_INDEX).is_checked() and sentence.get_by_role("radio").nth(9).count()
    assert sentence.locator(".word").nth(9).inner_text() == "tired" and swap.inner_text() == "Change tired to soft"


def test_arrow_keys_ask_word_after_word_and_the_dot_products_follow(sentence):
    first = sentence.get_by_role("radio").first
    first.focus()
    first.press("Space")
    for word in ("cat", "sat", "on"):
        sentence.page.keyboard.press("ArrowRight")
        assert sentence.get_by_role("status").inner_text().startswith(f"{word} asks:")
    sentence.get_by_text("Show the dot products").click()
    assert sentence.locator("caption").inner_text().startswith("on looks for q = (0, 3, 0, 0)")
    assert sentence.get_by_role("row", name="mat").locator("td").all_inner_texts()[1:] == [
        "6",
        "3.0",
        "20.09",
        "61.7 %",
    ]


def test_shares_move_before_what_they_take(visit):
    page = visit("")
    page.locator(".stage:enabled").wait_for()
    page.evaluate("""() => new MutationObserver((changes) => {
        const added = changes.flatMap(({ addedNodes }) => [...addedNodes]);
        const flies = added.some(({ className }) => className === "flying");
        if (flies) window.then ??= document.querySelectorAll(".share")[1].textContent;
    }).observe(document.querySelector(".stage"), { childList: true })""")
    page.clock.install()
    page.get_by_role("button", name="Change soft to tired").click()
    page.clock.run_for(500)
    assert page.locator(".share").nth(1).inner_text() == "59 %" == page.evaluate("window.then")
    page.clock.run_for(500)
    assert page.locator(".out > span").first.inner_text() == "6.8"
