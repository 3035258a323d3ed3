"""HTML pages as tests look at them: what they are made of, and whether they load nothing."""

from __future__ import annotations

import base64
import copy
import gzip
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from typing import Any, NamedTuple

from isoviz.widgets.script import SCRIPTS

VOID = {"meta", "br", "img", "input", "link", "hr"}


class Outline(HTMLParser):
    """Checks nesting, and collects tags, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open, f"left open: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


def check_self_contained(text: str) -> Outline:
    outline = Outline(text)
    assert not {"script", "link", "iframe", "object", "img", "b", "i"} & set(outline.tags)
    assert not [name for _, name, _ in outline.attributes if name.startswith("on")]
    for _, name, value in outline.attributes:
        if name in ("href", "src", "xlink:href"):
            assert value.startswith(("data:image/png;base64,", "#"))
        elif name != "xmlns":
            assert "//" not in value.replace(" // ", " "), (name, value)
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    ids = outline.values("id")
    assert len(ids) == len(set(ids))
    return outline


SVG = "{http://www.w3.org/2000/svg}"
_STYLE = ("fill", "stroke", "stroke-width", "stroke-dasharray", "paint-order", "font-size", "font-weight", "text-anchor")


def svg_root(text: str) -> ET.Element:
    """An SVG as a reader sees it: what stands in it several times does so, and every element has what it takes from its group."""
    root = ET.fromstring(text)
    named = {each.get("id"): each for each in root.iter() if each.get("id")}
    for parent in list(root.iter()):
        for place, each in enumerate(parent):
            if each.tag == f"{SVG}use":
                shown = copy.deepcopy(named[each.get("href", "").removeprefix("#")])
                moved = f"translate({each.get('x')} {each.get('y')})"
                shown.set("transform", f"{moved} {shown.get('transform', '')}")
                del shown.attrib["id"]
                parent[place] = shown
                _move(shown)
    for each in named.values():
        if each.tag == f"{SVG}g":
            _move(each)
    _hand_down(root)
    return root


def _move(group: ET.Element) -> None:
    """Texts, rectangles and circles get the coordinates that they have outside of their group."""
    moves = re.findall(r"translate\((\S+) (\S+)\)", group.get("transform", ""))
    shift = [sum(float(move[axis]) for move in moves) for axis in (0, 1)]
    for each in group.iter():
        for names, by in zip((("x", "cx"), ("y", "cy")), shift, strict=True):
            for name in names:
                if name in each.attrib:
                    each.set(name, f"{float(each.attrib[name]) + by}")


def _hand_down(parent: ET.Element) -> None:
    for each in parent:
        for name in _STYLE:
            if name in parent.attrib:
                each.attrib.setdefault(name, parent.attrib[name])
        _hand_down(each)


def without_plots(text: str) -> tuple[str, list[str]]:
    """HTML without the scripts that draw its plots, and what each of them draws, as the text of a JSON object."""
    pattern = r'<script data-drawn>.*?atob\("([^"]*)"\).*?</script>'
    packed = re.findall(pattern, text, flags=re.DOTALL)
    plots = [gzip.decompress(base64.b64decode(each, validate=True)).decode() for each in packed]
    assert all("roots" in json.loads(plot)["doc"] for plot in plots)
    assert text.count("data-plot") == len(plots)
    return re.sub(pattern, "", text, flags=re.DOTALL), plots


class SavedPage(NamedTuple):
    """A page that draws itself: its part without scripts, what it draws, and the answers that it holds."""

    static: Outline
    content: dict[str, Any]
    answers: dict[str, Any]


def check_saved_page(text: str) -> SavedPage:
    """Check that a page loads nothing, runs no script but its own, and holds all that it draws."""
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>")
    outline = Outline(text)
    assert "default-src 'none'" in outline.values("content")[0], "nothing may be loaded"
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", text, flags=re.DOTALL)
    assert outline.tags.count("script") == len(scripts)
    packed = {}
    for attributes, content in scripts[:-1]:
        (name,) = re.findall(r'id="isoviz-([a-z0-9.-]+)"', attributes)
        packed[name] = gzip.decompress(base64.b64decode(content, validate=True))
    assert scripts[-1][0] == "" and "isoviz.page.1" in scripts[-1][1], "the last script hands the page to the loader"
    assert {"content", "answers", "loader", *SCRIPTS} <= set(packed)
    ids = outline.values("id")
    assert len(ids) == len(set(ids))
    static = text.partition('<main id="isoviz-static"')[2]
    static = '<main id="isoviz-static"' + static.partition("</main>")[0] + "</main>"
    return SavedPage(check_self_contained(static), json.loads(packed["content"]), json.loads(packed["answers"]))
