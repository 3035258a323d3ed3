"""What is told is said once, as a value: a document of tables, facts, prose, listings and plots.

Its forms are derived: text and Markdown (`str(document)`, `document.markdown()`), one JSON object (`document.to_json()`), and
HTML (`isoviz.figures.document_html`). A plot is drawn in HTML alone, so a table beside it has its numbers. A table that follows
a plot at once is folded there.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from isoviz.units import format_bytes, format_rate, format_seconds

WIDTH = 116
"""Characters of a line of prose in text."""


def change(value: float) -> str:
    """A relative change: −0.62 → `−62 %`."""
    percent = 100 * value
    digits = 2 if 99.5 <= abs(percent) < 100 else 0 if abs(percent) >= 0.95 else 1
    text = f"{abs(percent):.{digits}f} %"
    return f"−{text}" if percent < 0 and float(text[:-2]) else text


def times(value: float) -> str:
    """A ratio: `2.2 ×`."""
    return f"{value:,.0f} ×" if value >= 99.5 else f"{value:.3g} ×" if value >= 9.95 else f"{value:.2f} ×"


def share(value: float) -> str:
    """A share: `36 %`."""
    return f"{100 * value:.1f} %" if 0.99 <= value < 1 else f"{100 * value:.0f} %"


UNITS: dict[str, Callable[[float], str]] = {
    "change": change,
    "times": times,
    "share": share,
    "rate": format_rate,
    "seconds": format_seconds,
    "bytes": format_bytes,
    "size": lambda value: f"{value / 1e9:.3g} GB",
    "count": lambda value: f"{value:,.0f}",
}
"""How a quantity is written, by its unit: rates are bytes per second, sizes and bytes are bytes, the others have none."""


class Quantity(NamedTuple):
    """A number with its unit, one of `UNITS`. A column that has one is set right."""

    value: float
    unit: str

    def __str__(self) -> str:
        return UNITS[self.unit](self.value)


class Mark(NamedTuple):
    """A word that stands out in HTML: in a good, a bad or no colour."""

    text: str
    tone: Literal["good", "bad", "none"] = "none"

    def __str__(self) -> str:
        return self.text


Cell = str | Quantity | Mark


@dataclass(frozen=True)
class Table:
    """Rows of cells below a header.

    - `numbers`: columns that are set right besides those with a quantity.
    - `remarks`: a sentence on each row ("" for none), under the heading `remark`. HTML has them as a last column, text and
      Markdown as a list below the table, in which the cell of the column `name` says which rows are meant.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    numbers: Collection[int] = ()
    remarks: Sequence[str] = ()
    remark: str = "remark"
    name: int = 0

    @property
    def right(self) -> frozenset[int]:
        """The columns that are set right."""
        return frozenset(self.numbers) | {k for row in self.rows for k, cell in enumerate(row) if isinstance(cell, Quantity)}

    def records(self) -> list[dict[str, Any]]:
        """A dictionary for each row, by the header: numbers without their unit."""
        return [
            {head: cell.value if isinstance(cell, Quantity) else str(cell) for head, cell in zip(self.header, row, strict=True)}
            for row in self.rows
        ]

    def remarked(self) -> dict[str, list[str]]:
        """Every remark once, and the names of its rows."""
        found: dict[str, list[str]] = {}
        for row, remark in zip(self.rows, self.remarks, strict=bool(self.remarks)):
            if remark:
                found.setdefault(remark, []).append(str(row[self.name]))
        return found


class Facts(NamedTuple):
    """Key figures, each a name and a value."""

    pairs: Sequence[tuple[str, Cell]]


class Prose(NamedTuple):
    """A paragraph."""

    text: str


class Listing(NamedTuple):
    """Text with its own lines and columns, such as a command."""

    text: str


class Plot(NamedTuple):
    """A plot of numbers: its `name` for a file, its title, and the function that returns it as a Bokeh figure."""

    name: str
    title: str
    draw: Callable[[], Any]


class Section(NamedTuple):
    """Parts under a heading. `data`: what programs read instead of the tables, by key."""

    title: str
    parts: Sequence[Part]
    data: Mapping[str, Any] | None = None


Part = Table | Facts | Prose | Listing | Plot | Section


@dataclass(frozen=True)
class Document:
    """A title, and parts: those before the first section are its head."""

    title: str
    parts: Sequence[Part]

    def __str__(self) -> str:
        """For a terminal."""
        return "\n\n".join([_underlined(self.title, "="), *_text(self.parts)])

    def markdown(self) -> str:
        """For a report."""
        return "\n\n".join([f"# {_plain(self.title)}", *_markdown(self.parts, 2)]) + "\n"

    def to_json(self) -> dict[str, Any]:
        """One JSON object: the data of all sections. A section without data has the rows of its tables under its title."""
        found: dict[str, Any] = {}
        for part in self.parts:
            if isinstance(part, Section):
                rows = [record for each in part.parts if isinstance(each, Table) for record in each.records()]
                found |= part.data if part.data is not None else {part.title: rows} if rows else {}
        return found

    def plots(self) -> Iterator[tuple[Plot, Table | None]]:
        """All plots, each with the table of its numbers."""
        return _plots(self.parts)


def _plots(parts: Sequence[Part]) -> Iterator[tuple[Plot, Table | None]]:
    for part, after in zip(parts, [*parts[1:], None], strict=True):
        if isinstance(part, Section):
            yield from _plots(part.parts)
        elif isinstance(part, Plot):
            yield part, after if isinstance(after, Table) else None


# ---- text


def aligned(rows: Sequence[Sequence[object]], left: Collection[int]) -> list[str]:
    """Rows of cells as lines with columns. Those in `left` are set left, all others right."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width) for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in texts
    ]


def _text(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        match part:
            case Table():
                lines = aligned([part.header, *part.rows], set(range(len(part.header))) - part.right)
                yield "\n".join([part.caption, *lines] if part.caption else lines)
                yield from (_wrapped(f"{'; '.join(names)}: {remark}") for remark, names in part.remarked().items())
            case Facts(pairs):
                yield "\n".join(aligned(pairs, (0, 1)))
            case Prose(text):
                yield _wrapped(text)
            case Listing(text):
                yield textwrap.indent(text, "  ")
            case Section(title, inner):
                yield _underlined(title, "-")
                yield from _text(inner)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _underlined(title: str, by: str) -> str:
    return f"{title}\n{by * len(title)}"


# ---- Markdown


def _plain(text: object) -> str:
    """Text in which no character has a meaning in Markdown or HTML."""
    return "".join(f"\\{char}" if char in "\\`*|[]<" else char for char in str(text)).replace("\n", " ")


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _markdown(parts: Sequence[Part], level: int) -> Iterator[str]:
    for part in parts:
        match part:
            case Table(header, rows):
                if part.caption:
                    yield _plain(part.caption)
                rules = ["---:" if k in part.right else "---" for k in range(len(header))]
                lines = [_row([_plain(cell) for cell in row]) for row in (header, *rows)]
                yield "\n".join([lines[0], _row(rules), *lines[1:]])
                if noted := part.remarked():
                    yield "\n".join(f"- {_plain('; '.join(names))}: {_plain(remark)}" for remark, names in noted.items())
            case Facts(pairs):
                yield "\n".join(f"- {_plain(name)}: {_plain(value)}" for name, value in pairs)
            case Prose(text):
                yield _plain(text)
            case Listing(text):
                yield textwrap.indent(text, "    ")
            case Section(title, inner):
                yield f"{'#' * level} {_plain(title)}"
                yield from _markdown(inner, level + 1)
