"""SVG primitives and colours: escaped, well-formed, unique ids, themed, legible for colour-blind readers."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET

import pytest

from isoviz.figures.charts.svg import Drawing, escape, shorten, text_width, wrap
from isoviz.figures.charts.theme import (
    DIMENSION_COLOURS,
    FIELD_COLOUR,
    RAMP_INK,
    TOKENS,
    colour,
    contrast,
    css,
    dimension_tokens,
    ramp,
)

HOSTILE = ["<script>alert(1)</script>", "a\"b'c&d", "\x00\x01\x1b[31m", "]]>", "\ud800", "\u202eevil", "&lt;"]


def drawn(text: str, theme: str = "auto") -> str:
    drawing = Drawing(text, text, theme)  # type: ignore[arg-type]
    drawing.text(0, 10, text, tip=text, fill="ink")
    drawing.rect(0, 0, 5, 5, fill="dim0", stroke="path", tip=text)
    drawing.line(0, 0, 5, 5, stroke="path", marker_end=drawing.arrow("path"))
    return drawing.render(100, 40)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("theme", ["auto", "light", "dark"])
def test_hostile_text_stays_text(text: str, theme: str) -> None:
    svg = drawn(text, theme)
    root = ET.fromstring(svg)
    kept = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", "", text)
    titles = [node.text or "" for node in root.iter("{http://www.w3.org/2000/svg}title")]
    assert titles[0] == kept
    assert not [node for node in root.iter() if node.tag.endswith("script")]


def test_escape_covers_every_special_character() -> None:
    assert escape("<>&\"'") == "&lt;&gt;&amp;&quot;&#39;"
    assert escape("\x00a\x08") == "a"


def test_role_title_and_description() -> None:
    root = ET.fromstring(drawn("a picture"))
    assert root.get("role") == "img"
    labels = (root.get("aria-labelledby") or "").split()
    ids = {node.get("id") for node in root.iter() if node.get("id")}
    assert len(labels) == 2 and set(labels) <= ids
    assert root.get("viewBox") == "0 0 100 40"


def test_the_same_picture_twice_has_different_ids() -> None:
    found = [set(re.findall(r' id="([^"]+)"', drawn("twice"))) for _ in range(3)]
    assert all(found)
    assert all(not (a & b) for a, b in itertools.combinations(found, 2))
    for ids, svg in ((set(re.findall(r' id="([^"]+)"', svg)), svg) for svg in (drawn("refs"), drawn("refs"))):
        assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= ids


def test_open_theme_follows_the_page_and_falls_back() -> None:
    svg = drawn("themes")
    assert "prefers-color-scheme:dark" in svg
    assert "[data-jp-theme-light=false]" in svg and "--jp-layout-color0" in svg
    assert f'fill="{TOKENS["ink"].light}"' in svg  # for viewers that drop style sheets


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_fixed_theme_has_plain_colours_only(theme: str) -> None:
    svg = drawn("fixed", theme)
    assert "<style>" not in svg and "var(" not in svg
    assert colour("ink", theme) in svg and colour("paper", theme) in svg  # type: ignore[arg-type]


def test_css_defines_every_token_for_both_themes() -> None:
    rules = css("#x", list(TOKENS))
    for name, token in TOKENS.items():
        assert f"--iv-{name}:{token.light}" in rules and f"--iv-{name}:{token.dark}" in rules


def test_text_colours_have_contrast() -> None:
    on_papers = ["ink", "muted", "path", "good", "bad", "measured", FIELD_COLOUR, *DIMENSION_COLOURS]
    for name, paper in itertools.product(on_papers, ("paper", "panel", "raised")):
        for theme in ("light", "dark"):
            assert contrast(colour(name, theme), colour(paper, theme)) >= 4.5, (name, paper, theme)  # type: ignore[arg-type]
    for theme in ("light", "dark"):
        for name, back in (("on-path", "path"), ("good", "good-soft"), ("bad", "bad-soft"), ("ink", "path-soft")):
            assert contrast(colour(name, theme), colour(back, theme)) >= 4.5, (name, back, theme)  # type: ignore[arg-type]


def test_ramp_darkens_steadily_and_carries_dark_text() -> None:
    found = ramp(64)
    light = [contrast(value, "#000000") for value in found]
    assert all(a > b for a, b in itertools.pairwise(light[::4]))
    assert all(contrast(value, RAMP_INK) >= 5 for value in found)


def test_dimensions_keep_their_colour() -> None:
    alone = {name: dimension_tokens([name])[name] for name in ("x", "y", "z")}
    assert dimension_tokens(["z", "y", "x"]) == alone
    assert dimension_tokens(["x", "y"])["x"] == dimension_tokens(["x", "lattice"])["x"]
    many = [f"d{letter}" for letter in "abcdefg"]
    assert len(set(dimension_tokens(many).values())) == len(DIMENSION_COLOURS)
    assert dimension_tokens(many) == dimension_tokens(many[::-1])
    assert len(dimension_tokens([f"q{n}" for n in "abcdefghijklmnop"])) == 16
    assert FIELD_COLOUR not in DIMENSION_COLOURS


def test_shorten_and_wrap_fit() -> None:
    long = "node0.framebuffer-with-a-very-long-name-indeed"
    for width in (40, 80, 120):
        assert text_width(shorten(long, width, 12), 12) <= width
        assert all(text_width(line, 12) <= width for line in wrap(f"{long} and words after it", width, 12))
    assert shorten("short", 100, 12) == "short"
    assert wrap("", 100, 12) == []
