"""SVG written by hand: escaped, well-formed, themed, with ids that no other picture on the page has."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from isoviz.figures.charts import theme as themes
from isoviz.figures.charts.theme import MARGIN, MONO, SANS, ThemeName
from isoviz.forks import Lock

# Stands for the id of the picture until the picture is complete. `escape` removes it from all text that comes from outside.
ID = "\x00"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_seen: Counter[str] = Counter()
_seen_lock = Lock()


def escape(text: object) -> str:
    """`text` as character data or attribute value, in XML and in HTML; characters XML cannot hold are left out."""
    clean = _NOT_XML.sub("", str(text))
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;").replace("'", "&#39;")


def finish(content: str) -> str:
    """Give the picture its id: a digest of its content, with a counter if this process draws the same picture again."""
    digest = "iv" + hashlib.blake2b(content.encode("utf-8", "replace"), digest_size=5).hexdigest()
    with _seen_lock:
        if len(_seen) > 65536:
            _seen.clear()
        _seen[digest] += 1
        count = _seen[digest]
    return content.replace(ID, digest if count == 1 else f"{digest}-{count}")


def number(value: float) -> str:
    """A coordinate to a tenth of a pixel, in the fewest characters."""
    return f"{value:.1f}".removesuffix(".0").replace("-0.0", "0")


def text_width(text: str, size: float, *, mono: bool = False, bold: bool = False) -> float:
    """The approximate width of `text`, at least that in DejaVu, the widest of the usual fonts."""
    if mono:
        return 0.605 * size * len(text)
    wide = sum(0.85 if char in "mwMW@%→⟨⟩" else 0.38 if char in "ijl.,:;|!'() []" else 0.62 for char in text)
    return wide * size * (1.12 if bold else 1.0)


def shorten(text: str, width: float, size: float, *, mono: bool = False, bold: bool = False) -> str:
    """`text`, with its middle replaced by … if it is wider than `width`."""
    if text_width(text, size, mono=mono, bold=bold) <= width:
        return text
    keep = len(text)
    while keep > 2:
        keep -= 1
        head = (keep + 1) // 2
        candidate = text[:head] + "…" + text[len(text) - (keep - head) :]
        if text_width(candidate, size, mono=mono, bold=bold) <= width:
            return candidate
    return text[:1] + "…"


def wrap(text: str, width: float, size: float, *, mono: bool = False) -> list[str]:
    """`text` in lines no wider than `width`, broken at spaces (not at non-breaking ones); a word wider than that is shortened."""
    lines: list[str] = []
    current = ""
    for word in filter(None, text.split(" ")):
        longer = f"{current} {word}" if current else word
        if not current or text_width(longer, size, mono=mono) <= width:
            current = longer
        else:
            lines.append(current)
            current = word
    if current:
        lines.append(current)
    return [shorten(line, width, size, mono=mono) for line in lines]


_INHERITED = frozenset({
    "fill", "fill_opacity", "stroke", "stroke_width", "stroke_opacity", "stroke_dasharray", "stroke_linecap", "stroke_linejoin",
    "paint_order", "font_size", "font_weight", "font_family", "text_anchor",
})  # fmt: skip
"""Attributes that an element takes over from the group in which it stands."""


class _Leaf(NamedTuple):
    """An element without others in it: its tag, its own attributes, those that it may share with its neighbours, its content."""

    tag: str
    own: str
    style: str
    content: str

    def written(self, style: str) -> str:
        opening = f"<{self.tag}{self.own}{style}"
        return f"{opening}>{self.content}</{self.tag}>" if self.content else f"{opening}/>"


class Drawing:
    """An SVG under construction. Coordinates are CSS pixels at natural size; colours are tokens of the theme or `#rrggbb`.

    `remark` is a sentence below the picture, such as which memories are emulated.
    """

    def __init__(self, title: str, description: str, theme: ThemeName = "auto", *, remark: str = "") -> None:
        self.title = title
        self.description = f"{description} {remark}".strip()
        self._remark = remark
        self.theme: ThemeName = theme
        self._parts: list[str | _Leaf] = []
        self._defs: list[str] = []
        self._groups = 0
        self._used: dict[str, None] = {}
        self._paint: dict[tuple[str, str], None] = {}

    # -- elements

    def element(self, tag: str, content: str = "", /, *, tip: str | None = None, **attributes: object) -> None:
        """One element; `content` must be escaped already, `tip` becomes a native tooltip."""
        if tip is not None:
            content = f"<title>{escape(tip)}</title>{content}"
        style = {name: value for name, value in attributes.items() if name in _INHERITED}
        own = {name: value for name, value in attributes.items() if name not in _INHERITED}
        self._parts.append(_Leaf(tag, self.attributes(**own), self.attributes(**style), content))

    @contextmanager
    def sorted_by_style(self) -> Iterator[None]:
        """Elements of one style come together, in the order in which the styles first come: none may lie on another one's place
        but in this order."""
        begin, order = len(self._parts), dict[str, int]()
        yield
        self._parts[begin:] = sorted(self._parts[begin:], key=lambda part: order.setdefault(_style(part), len(order)))

    def once(self, pictures: Iterable[tuple[tuple[float, float], Callable[[], None]]]) -> None:
        """Draw pictures at their places, each from its own origin. What is equal is written once."""
        drawn: dict[tuple[str | _Leaf, ...], list[tuple[float, float]]] = {}
        for place, draw in pictures:
            begin = len(self._parts)
            draw()
            drawn.setdefault(tuple(self._parts[begin:]), []).append(place)
            del self._parts[begin:]
        for parts, places in drawn.items():
            self._groups += 1
            name = f"{ID}-{self._groups}"
            (x, y), *others = places
            self._parts += [f'<g id="{name}" transform="translate({number(x)} {number(y)})">', *parts, "</g>"]
            self._parts += [f'<use href="#{name}" x="{number(to_x - x)}" y="{number(to_y - y)}"/>' for to_x, to_y in others]

    def open(self, tag: str = "g", /, **attributes: object) -> None:
        self._parts.append(f"<{tag}{self.attributes(**attributes)}>")

    def close(self, tag: str = "g") -> None:
        self._parts.append(f"</{tag}>")

    def raw(self, markup: str) -> None:
        """Markup of this package; text in it must be escaped already."""
        self._parts.append(markup)

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "none",
        stroke: str | None = None,
        radius: float = 0,
        **more: object,
    ) -> None:
        extra: dict[str, object] = {"rx": radius} if radius else {}
        self.element("rect", x=x, y=y, width=width, height=height, fill=fill, stroke=stroke, **extra, **more)  # type: ignore[arg-type]

    def line(self, x1: float, y1: float, x2: float, y2: float, *, stroke: str, width: float = 1, **more: object) -> None:
        self.element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=stroke, stroke_width=width, **more)  # type: ignore[arg-type]

    def path(self, data: str, *, fill: str = "none", stroke: str | None = None, width: float = 1, **more: object) -> None:
        self.element("path", d=data, fill=fill, stroke=stroke, stroke_width=width, **more)  # type: ignore[arg-type]

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = 12,
        fill: str = "ink",
        anchor: str = "start",
        bold: bool = False,
        mono: bool = False,
        halo: str | None = None,
        **more: object,
    ) -> None:
        """Text with its baseline at (x, y); `halo` draws it on a rim of that colour, so that lines pass behind it."""
        extra: dict[str, object] = {}
        if anchor != "start":
            extra["text_anchor"] = anchor
        if bold:
            extra["font_weight"] = 600
        if mono:
            extra["font_family"] = MONO
        if halo:
            extra.update(stroke=halo, stroke_width=4, stroke_linejoin="round", paint_order="stroke")
        self.element("text", escape(text), x=x, y=y, font_size=size, fill=fill, **extra, **more)  # type: ignore[arg-type]

    def runs(self, x: float, y: float, parts: Sequence[tuple[str, str]], *, size: float = 12, **more: object) -> None:
        """Text in several colours: `parts` are (text, token)."""
        spans = "".join(f"<tspan{self.attributes(fill=token)}>{escape(text)}</tspan>" for text, token in parts)
        self.element("text", spans, x=x, y=y, font_size=size, **more)  # type: ignore[arg-type]

    def arrow(self, token: str) -> str:
        """The value for `marker_end` of an arrow head in a colour."""
        name = f"{ID}-arrow-{token}"
        head = (
            f'<marker id="{name}" viewBox="0 0 10 10" refX="8.5" refY="5" markerWidth="7" markerHeight="7" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.6 10 5 0 9.4z"{self.attributes(fill=token)}/></marker>'
        )
        if token.startswith("path"):
            head = head.replace('"7"', '"13"')
        if head not in self._defs:
            self._defs.append(head)
        return f"url(#{name})"

    def gradient(self, colours: Sequence[str]) -> str:
        """The value for `fill` of colours that pass into each other from left to right."""
        name = f"{ID}-gradient-{len(self._defs)}"
        stops = "".join(
            f'<stop offset="{number(100 * k / (len(colours) - 1))}%" stop-color="{each}"/>' for k, each in enumerate(colours)
        )
        self._defs.append(f'<linearGradient id="{name}">{stops}</linearGradient>')
        return f"url(#{name})"

    # -- the whole

    def attributes(self, **values: object) -> str:
        """Attributes as text. Colour tokens get the plain value and, where the theme is open, a class that follows the theme."""
        written: list[str] = []
        classes: list[str] = []
        for key, value in values.items():
            if value is None:
                continue
            name = key.replace("_", "-")
            if name in ("fill", "stroke") and isinstance(value, str):
                if value in themes.TOKENS and self.theme == "auto":
                    self._used[value] = None
                    self._paint[name, value] = None
                    classes.append(_class(name, value))
                value = themes.colour(value, self.theme)
            if isinstance(value, float):
                value = number(value) if abs(value) >= 1 or value == 0 else f"{value:.3g}"
            written.append(f' {name}="{value if str(value).startswith(f"url(#{ID}") else escape(value)}"')
        if classes:
            written.append(f' class="{" ".join(classes)}"')
        return "".join(written)

    def render(self, width: float, height: float) -> str:
        """The complete SVG on its own background, `width` × `height` pixels; it shrinks with its container as long as it is
        legible."""
        for line in wrap(self._remark, width - 2 * MARGIN, 12):
            height += 18
            self.text(MARGIN, height - 6, line, size=12, fill="muted")
        height += 6 if self._remark else 0
        background = f"<rect{self.attributes(width=width, height=height, rx=6, fill='paper')}/>"
        sheet = ""
        if self._paint:
            # The same for every picture, so not within one: what is shown a second time (`use`) lies outside of it.
            rules = "".join(f".{_class(name, token)}{{{name}:var(--iv-{token})}}" for name, token in sorted(self._paint))
            tokens = themes.css("#" + ID, sorted(self._used))
            sheet = f"<style>{tokens}{rules}</style>"
        defs = f"<defs>{''.join(self._defs)}</defs>" if self._defs else ""
        return finish(
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{ID}" role="img" aria-labelledby="{ID}-t {ID}-d" '
            f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}" '
            f'font-family="{escape(SANS)}" style="max-width:100%;min-width:{number(min(width, 600.0))}px;height:auto">'
            f'<title id="{ID}-t">{escape(self.title)}</title><desc id="{ID}-d">{escape(self.description)}</desc>'
            f"{sheet}{defs}{background}{_joined(self._parts)}</svg>"
        )


def _class(name: str, token: str) -> str:
    """The class of what is filled or stroked in the colour of a token."""
    return f"iv-{name[0]}-{token}"


def _style(part: str | _Leaf) -> str:
    return part if isinstance(part, str) else part.style


def _joined(parts: Iterable[str | _Leaf]) -> str:
    """The elements of a drawing. A style that several have one after the other is written once, for the group of them."""
    found: list[str] = []
    for style, group in itertools.groupby(parts, key=_style):
        members = list(group)
        leaves = [part for part in members if not isinstance(part, str)]
        if len(leaves) > 1 and style:
            found += [f"<g{style}>", *(each.written("") for each in leaves), "</g>"]
        else:
            found += [part if isinstance(part, str) else part.written(style) for part in members]
    return "".join(found)
