"""Goes through a page by its keyboard alone, and says what it did not come to."""

# Lists what can be used, notes what the keyboard reaches, and counts how often it comes from outside of the page.
# What looks like a button in the header counts, also where it is a label. Transitions would hide what has just got the
# focus.  Of a group of choices it reaches one, and arrows lead to the others; a choice may be seen by its label alone.
WALK = """(closed) => {
    document.head.insertAdjacentHTML("beforeend", "<style>* { transition: none !important }</style>");
    const first = (radio) => document.querySelector(`input[type=radio][name="${radio.name}"]`);
    const key = (element) => element.type === "radio" ? first(element) : element.control ?? element;
    const shown = (element) => {
        const { left, right, width } = element.getBoundingClientRect();
        const inView = width > 0 && left < innerWidth && right > 0;
        const seen = element.type === "radio" ? element.labels[0] ?? element : element;
        return inView && seen.checkVisibility({ visibilityProperty: true, opacityProperty: true });
    };
    const selector = "a[href], button, select, input, summary, [tabindex='0'], label.md-header__button";
    const usable = (element) =>
        element.checkVisibility({ visibilityProperty: true }) && !element.hidden && !element.matches(closed);
    const reached = new Set();
    const html = (element) => element.outerHTML.replace(/\\s+/g, " ").slice(0, 120);
    window.walk = {
        wanted: [...document.querySelectorAll(selector)].filter(usable),
        unseen: new Set(),
        rounds: 0,
        unreached: () => walk.wanted.filter((element) => !reached.has(key(element))).map(html),
    };
    addEventListener("focusin", ({ target }) => {
        reached.add(key(target));
        if (!shown(target)) walk.unseen.add(html(target));
    });
    addEventListener("keydown", () => (walk.rounds += document.activeElement === document.body));
    return walk.wanted.length;
}"""


def tab_through(page, closed: str) -> None:
    """Round the page, from its first control to its last; and again if a control was missed, for it may have got the
    focus while Material replaced it."""
    wanted = page.evaluate(WALK, closed)
    pressed = 0
    while not page.evaluate("walk.rounds > 2 || (walk.rounds === 2 && !walk.unreached().length)"):
        assert pressed < 2 * wanted + 50, "the focus does not leave the page"
        for _ in range(25):
            page.keyboard.press("Tab")
        pressed += 25


def assert_reached(page, path: str, *places: str) -> None:
    for place in places:
        assert page.evaluate("(place) => walk.wanted.some((control) => control.matches(place))", place), (path, place)
    assert not page.evaluate("walk.unreached()"), path
    assert not page.evaluate("[...walk.unseen]"), f"{path}: what has the focus is out of sight"


def assert_keyboard_reaches_every_control(page, path: str) -> None:
    """At a desk."""
    page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")
    tab_through(page, closed=".md-search button, .md-search__output, .md-search__output *")
    places = [".md-logo", ".md-search__input", ".hb-scheme", ".md-tabs a"]
    if path != "404.html":
        places.append(".md-skip")
    if path not in ("404.html", ""):  # the first page is itself the contents
        places += [".md-sidebar--primary a", ".md-footer a"]
    assert_reached(page, path, *places)
