# ruff: noqa: RUF001  (signs as a table has them)
"""What is done to a page after Markdown: drawings, tables and formulas set."""

import pytest
from mkdocs.exceptions import PluginError
from pygments import lexers

from scripts.site import cache
from scripts.site.markup import drawings, maths, tables
from scripts.site.markup.plain_code import plain_code


def test_a_drawing_is_set_into_the_page_with_its_alternative():
    html = drawings.inline(
        '<p><img alt="Three &quot;cards&quot;" class="drawing" src="../assets/drawings/three-matmuls-cards.svg"></p>',
        "p",
    )
    assert html.startswith('<p><svg class="hb-drawing" role="img" aria-label="Three &quot;cards&quot;"')
    assert "<img" not in html and "<?xml" not in html


def test_a_drawing_with_a_wide_form_is_set_in_twice(monkeypatch, tmp_path):
    folder = tmp_path / "docs" / "assets" / "drawings"
    folder.mkdir(parents=True)
    for name in ("jar", "jar-wide"):
        (folder / f"{name}.svg").write_text(f"<svg><title>{name}</title></svg>", encoding="utf-8")
    monkeypatch.setattr(drawings, "ROOT", tmp_path)
    html = drawings.inline('<img alt="A jar" class="drawing" src="jar.svg">', "p")
    assert [part.partition('"')[0] for part in html.split('class="hb-drawing hb-drawing--')[1:]] == ["narrow", "wide"]
    assert html.count('aria-label="A jar"') == 2 and html.index(">jar<") < html.index(">jar-wide<")


def test_another_image_is_left_alone():
    image = '<img alt="x" src="a.png">'
    assert drawings.inline(image, "p") == image


@pytest.mark.parametrize(
    "image", ['<img class="drawing" alt="x" src="no.svg">', '<img class="drawing" src="cards.svg" />']
)
def test_a_drawing_without_file_or_alternative_stops_the_build(image):
    with pytest.raises(PluginError, match=r"page\.md: .*a drawing needs its file"):
        drawings.inline(image, "page.md")


@pytest.mark.parametrize("html", ['<div class="admonition note">', '<details class="note" open><summary>A'])
def test_a_callout_of_an_unknown_kind_stops_the_build(html):
    drawings.check_callouts(html, "page.md", ["trip", "note"])
    drawings.check_callouts('<details class="hb-folded"><summary>A</summary></details>', "page.md", [])
    with pytest.raises(PluginError, match=r"page\.md: a callout of the kind note: mkdocs\.yml has trip, click"):
        drawings.check_callouts(html, "page.md", ["trip", "click"])


def test_a_table_is_wrapped_so_that_it_scrolls():
    html = tables.wrap_tables('<table data-x="1"><tr></tr></table><table><tr></tr></table>')
    box = (
        '<div class="md-typeset__scrollwrap"><div class="md-typeset__table"><table class="hb-grid"{}><tr></tr></table>'
    )
    assert html == "".join(f"{box.format(attributes)}</div></div>" for attributes in (' data-x="1"', ""))


def test_in_a_cell_no_line_ends_within_a_short_equation_or_behind_the_sign_of_a_longer_one():
    rows = '<tr><td title="1 / 2 = 0.5">512 / 256 = 2</td><td>4 · 128 · 2 / 512 = 2 bytes, N = 3</td></tr>'
    assert tables.hold_equations(rows) == (
        '<tr><td title="1 / 2 = 0.5"><span class="hb-held">512 / 256 = 2</span></td>'
        '<td>4 · 128 · 2 / 512 <span class="hb-held">= 2</span> bytes, N = 3</td></tr>'
    )


def test_a_table_with_a_class_is_left_alone():
    table = '<table id="a" class="other"><tr></tr></table>'
    assert tables.wrap_tables(table) == table


def test_a_column_of_numbers_stands_right_with_its_head_and_one_of_words_does_not():
    html = tables.wrap_tables(
        "<table><thead><tr><th>a</th><th>ms</th><th>part</th></tr></thead><tbody>"
        "<tr><td>1 of 2</td><td>1.97</td><td>57 %</td></tr>"
        "<tr><td>3</td><td><b>−2</b></td><td>–</td></tr></tbody></table>"
    )
    assert "<th>a</th>" in html and "<td>1 of 2</td>" in html and "<td>3</td>" in html
    for cell in ("ms</th>", "part</th>", "1.97</td>", "57 %</td>", "<b>−2</b></td>", "–</td>"):
        assert f' class="hb-number">{cell}' in html
    assert "hb-number" not in tables.wrap_tables(
        '<table><tr><th>a</th></tr><tr><td style="text-align: left;">1</td></tr></table>'
    )


def test_a_cell_by_hand_says_what_stands_above_it():
    heads = "<thead><tr><th>a &amp; b</th><th><i>sum</i></th></tr></thead>"
    table = f"<table>{heads}<tbody><tr><td>x</td><td>y</td></tr></tbody></table>"
    inside = tables.wrap_tables(f'<div class="admonition by-hand"><p>1</p>{table}</div>{table}')
    assert inside.count('<td data-head="a &amp; b">x</td><td data-head="sum">y</td>') == 1
    assert "data-head" not in tables.wrap_tables(
        f'<div class="admonition by-hand"></div><div class="admonition">{table}</div>'
    )


def test_by_hand_the_signs_of_equality_stand_below_one_another():
    rows = "<tr><th>what</th><th>result</th></tr><tr><td>= 2</td><td>= 12</td></tr>"
    inside = tables.wrap_tables(f'<div class="admonition by-hand"><table>{rows}</table></div>')
    assert '<td data-head="what">= 2</td><td data-head="result"><i>=</i> 12</td>' in inside


def test_in_the_table_of_a_run_the_head_of_a_number_stands_as_it_does():
    table = (
        '<table class="hb-grid"><thead><tr><th>a</th><th>b</th></tr></thead><tbody>'
        '<tr><td>x</td><td class="hb-number">1</td></tr></tbody></table>'
    )
    assert tables.wrap_tables(table) == table.replace("<th>b", '<th class="hb-number">b')


@pytest.fixture
def formulas(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    return maths.Formulas()


def test_no_line_begins_with_the_comma_behind_a_formula(formulas):
    html = formulas.render(
        "p", '(<span class="arithmatex">\\(x\\)</span>, <span class="arithmatex">\\(a = b\\)</span>.', ""
    )
    assert html.startswith('<span class="hb-held">(<span class="katex">') and html.count("hb-held") == 1
    assert "</span>,</span> <span" in html and html.endswith("</span>.")


def test_a_formula_is_set_and_brings_its_styles(formulas):
    page = '<head></head><span class="arithmatex">\\(a &lt; \\sqrt d\\)</span>'
    html = formulas.render("p", page, "katex.css")
    assert 'class="katex"' in html and "\\(" not in html and '<link rel="stylesheet" href="katex.css"></head>' in html
    assert formulas.render("p", "<head></head>", "katex.css") == "<head></head>"
    assert maths.Formulas().render("p", page, "katex.css") == html  # kept


def test_a_formula_within_a_line_and_one_of_its_own_are_two(formulas):
    shapes = ('<span class="arithmatex">\\(d\\)</span>', '<div class="arithmatex">\\[d\\]</div>')
    line, own_paragraph = (formulas.render("p", shape, "katex.css") for shape in shapes)
    assert "katex-display" in own_paragraph and "katex-display" not in line


def test_a_formula_that_katex_refuses_stops_the_build_and_is_named(formulas):
    for _ in range(2):
        with pytest.raises(PluginError, match=r"page\.md: the formula \\nothing d: .*Undefined control sequence"):
            formulas.render("page.md", '<span class="arithmatex">\\(\\nothing d\\)</span>', "katex.css")


def test_a_tensor_has_its_colour_in_code_and_nothing_that_only_sounds_like_it():
    lexer = lexers.get_lexer_by_name("python")
    lexer.add_filter(plain_code)
    code = 'scores = query @ k.T  # of a key\nprint("value", key_number, q_offsets)\nreturn shares @ values\n'
    coloured = {text: kind[-1] for kind, text in lexer.get_tokens(code) if kind[:1] == ("Name",) and len(kind) > 1}
    coloured.pop("print", None)
    tensors = {"scores": "Square", "query": "Query", "k": "Key", "shares": "Square", "values": "Value"}
    assert coloured == tensors
