"""Code on a marked line can be read: every colour that code is set in has a contrast of at least 4.5 to 1 there."""

import re

import pytest

from scripts.records import ROOT

CSS = (ROOT / "docs" / "stylesheets" / "handbook.css").read_text(encoding="utf-8")
LIGHT, DARK = (
    dict(re.findall(r"--(hb-\w+): #([0-9a-f]{6})", block))
    for block in re.findall(r"(?::root|\[data-md-color-scheme=\"slate\"\]) \{(.*?)\}", CSS, re.DOTALL)
)
INKS = sorted(set(re.findall(r"--md-code-(?:fg|hl-\w+)-color: var\(--(hb-\w+)\)", CSS)))
(MARK,) = re.findall(r"--md-code-hl-color--light: color-mix\(in srgb, var\(--(hb-\w+)\) (\d+)%, transparent\)", CSS)


def channels(colour):
    return [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ink", INKS)
def test_a_colour_can_be_read_on_a_marked_line(scheme, ink):
    share = int(MARK[1]) / 100
    pairs = zip(channels(scheme["hb-shade"]), channels(scheme[MARK[0]]), strict=True)
    ground = luminance([(1 - share) * below + share * above for below, above in pairs])
    darker, lighter = sorted((luminance(channels(scheme[ink])), ground))
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5
