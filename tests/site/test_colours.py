"""The colours: roles drawn together can be told apart, also without red or green cones, and words can be read."""

import re
from itertools import combinations
from math import hypot, sqrt

import pytest

from scripts.records import ROOT

CSS = (ROOT / "docs" / "stylesheets" / "colours.css").read_text(encoding="utf-8")
LIVE = (ROOT / "docs" / "stylesheets" / "live.css").read_text(encoding="utf-8")
SCHEMES = ["light", "dark"]
ROLES = ("query", "key", "value", "rose", "soft", "ink")
DATA_ROLES = ("violet", "rose", "soft", "ink")  # a chart has no Q, of which violet would be a shade for who sees no red
MIN_DIFFERENCE = 11.5  # of CIE94, which calls 1 just noticeable for colours side by side
MIN_CONTRAST = 4.5  # contrast, by WCAG

# Machado, Oliveira and Fernandes, "A physiologically-based model for simulation of color vision deficiency", 2009: the
# whole loss of one kind of cone, for linear red, green and blue.
CONES = {
    "every colour": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
RGB_TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))


def scheme_colours(name: str) -> dict[str, str]:
    """The colours of a scheme by their names: of each pair in the stylesheet the one that the scheme takes."""
    pairs = re.findall(r"--hb-([\w-]+): light-dark\((#\w{6}), (#\w{6})\);", CSS)
    return {role: pair[SCHEMES.index(name)] for role, *pair in pairs}


def linear_rgb(colour: str) -> list[float]:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]


def multiply(matrix, vector) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def contrast_ratio(one: list[float], other: list[float]) -> float:
    dark, light = sorted(multiply(RGB_TO_XYZ, colour)[1] for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


def cie_lab(colour: list[float]) -> tuple[float, float, float]:
    white = multiply(RGB_TO_XYZ, (1, 1, 1))
    x, y, z = (
        part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116
        for part in (
            a / b for a, b in zip(multiply(RGB_TO_XYZ, [min(max(c, 0), 1) for c in colour]), white, strict=True)
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def cie94(one: tuple, other: tuple) -> float:
    """The difference of two colours in CIELAB: hue and chroma count less where colours are strong."""
    (light1, a1, b1), (light2, a2, b2) = one, other
    chroma1, chroma2 = hypot(a1, b1), hypot(a2, b2)
    mean, chroma = sqrt(chroma1 * chroma2), chroma1 - chroma2
    hue_squared = max((a1 - a2) ** 2 + (b1 - b2) ** 2 - chroma**2, 0)
    return sqrt((light1 - light2) ** 2 + (chroma / (1 + 0.045 * mean)) ** 2 + hue_squared / (1 + 0.015 * mean) ** 2)


@pytest.mark.parametrize("sight", CONES)
@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("roles", [ROLES, DATA_ROLES], ids=["tensors", "data"])
def test_any_two_roles_are_told_apart(name, sight, roles):
    colours = scheme_colours(name)
    seen = {role: cie_lab(multiply(CONES[sight], linear_rgb(colours[role]))) for role in roles}
    near = {pair: cie94(*(seen[role] for role in pair)) for pair in combinations(roles, 2)}
    assert min(near.values()) >= MIN_DIFFERENCE, sorted((round(apart, 1), pair) for pair, apart in near.items())[:5]


@pytest.mark.parametrize("name", SCHEMES)
def test_words_in_any_role_are_read_on_every_ground(name):
    colours = {role: linear_rgb(colour) for role, colour in scheme_colours(name).items()}
    for ground in ("paper", "shade"):
        found = {role: contrast_ratio(colours[role], colours[ground]) for role in {*ROLES, *DATA_ROLES}}
        assert min(found.values()) >= MIN_CONTRAST, (ground, found)


def mixed_colour(colours: dict[str, str], role: str, percent: str, ground: str) -> list[float]:
    """A role's colour laid over another, as linear RGB: a browser mixes the encoded values, not the light."""
    most = float(percent) / 100
    shares = ([int(colours[name][at : at + 2], 16) for at in (1, 3, 5)] for name in (role, ground))
    return linear_rgb("#" + "".join(f"{round(most * a + (1 - most) * b):02x}" for a, b in zip(*shares, strict=True)))


@pytest.mark.parametrize("name", SCHEMES)
def test_code_is_read_in_a_marked_line(name):
    colours = scheme_colours(name)
    marked = r"code-hl-color--light: color-mix\(in srgb, var\(--hb-(\w+)\) (\d+)%, transparent\)"
    role, most = re.search(marked, CSS).groups()
    inks = set(re.findall(r"--md-code-(?:fg|hl-\w+)-color: var\(--hb-(\w+)\)", CSS))
    assert {"ink", "soft"} <= inks
    line = mixed_colour(colours, role, most, "paper")
    assert min(contrast_ratio(linear_rgb(colours[ink]), line) for ink in inks) >= MIN_CONTRAST


@pytest.mark.parametrize("name", SCHEMES)
def test_the_digits_in_a_shaded_cell_are_read_however_much_it_is_shaded(name):
    most = re.search(r"\.hb-live__cell \{[^}]*var\(--hb-query\) calc\(var\(--part\) \* (\d+)%\)", LIVE)[1]
    colours = scheme_colours(name)
    assert contrast_ratio(mixed_colour(colours, "query", most, "paper"), linear_rgb(colours["ink"])) >= MIN_CONTRAST
