"""HTML pages as tests look at them: what they are made of, and whether they load nothing."""

from __future__ import annotations

import re
from html.parser import HTMLParser

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
            assert value.startswith("data:image/png;base64,")
        elif name != "xmlns":
            assert "//" not in value.replace(" // ", " "), (name, value)
    assert "@import" not in text and not re.search(r"url\((?!#)", text)
    ids = outline.values("id")
    assert len(ids) == len(set(ids))
    return outline
