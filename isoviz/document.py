"""Documents: what isoviz says of a value, as tables, facts, prose, listings, pictures and plots.

All forms of a document are derived from it: text and Markdown (`str(document)`, `document.markdown()`), one JSON object
(`document.to_json()`), and HTML (`isoviz.figures.document_html`). Pictures and plots are drawn in HTML alone, so a table beside
them has their numbers. A table that follows a plot at once is folded there.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from isoviz.errors import printable
from isoviz.units import format_bytes, format_rate, format_seconds

WIDTH = 116
"""Characters of a line of text, where its words allow it."""
MOST_OF_REPR = 200
"""Characters of the `repr` of a value at most."""


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


class Code(NamedTuple):
    """A word of a notation, such as a layout: in HTML in the fixed-width face."""

    text: str

    def __str__(self) -> str:
        return self.text


class Bar(NamedTuple):
    """A share from 0 to 1 as a bar with `text` behind it. Text has the words alone, and a bar where there are none."""

    share: float
    text: str = ""

    def __str__(self) -> str:
        return self.text or "█" * max(1, round(20 * min(1.0, self.share)))


Cell = str | Quantity | Mark | Code | Bar


@dataclass(frozen=True)
class Table:
    """Rows of cells below a header. A column in which every cell is empty is left out, and a header without words.

    - `numbers`: columns that are set right besides those with a quantity.
    - `marked`: the numbers of the rows that stand out in HTML.
    - `below`: the column that text writes in lines of its own where lines would be too long: each cell below that of `name`.
    - `is_folded`: HTML folds the table under its caption.
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
    marked: Collection[int] = ()
    below: int | None = None
    is_folded: bool = False

    @property
    def right(self) -> frozenset[int]:
        """The columns that are set right."""
        return frozenset(self.numbers) | {k for row in self.rows for k, cell in enumerate(row) if isinstance(cell, Quantity)}

    @property
    def columns(self) -> list[int]:
        """The columns that are shown: those with a cell that is not empty, and all of a table without rows."""
        return [k for k in range(len(self.header)) if not self.rows or any(str(row[k]) for row in self.rows)]

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


class Points(NamedTuple):
    """Sentences, each on a line of its own."""

    texts: Sequence[str]


class Listing(NamedTuple):
    """Text with its own lines and columns, such as a command. HTML folds it under its `summary`, where it has one."""

    text: str
    summary: str = ""


class Picture(NamedTuple):
    """A picture of values, drawn by the function of `isoviz.figures` with this name, which gets `given` and `options`.

    A value does not know the figures, which lie above it.
    """

    function: str
    given: Sequence[Any]
    options: Mapping[str, Any] = MappingProxyType({})


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


Part = Table | Facts | Prose | Points | Listing | Picture | Plot | Section


@dataclass(frozen=True)
class Document:
    """A title, and parts: those before the first section are its head.

    `line` says the title and the key figures in one line. A document that has it is brief in text: its line, and its head without
    the facts.
    """

    title: str
    parts: Sequence[Part]
    line: str = ""

    @property
    def head(self) -> Sequence[Part]:
        """The parts before the first section."""
        return _before_sections(self.parts)

    def __str__(self) -> str:
        """For a terminal."""
        if not self.line:
            return "\n\n".join(_blocks(self.title, self.parts, "="))
        return "\n".join([self.line, *_text([part for part in self.head if not isinstance(part, Facts)])])

    def markdown(self) -> str:
        """For a report."""
        return "\n\n".join([f"# {_plain(self.title)}", *_markdown(self.parts, 2)]) + "\n"

    def to_json(self) -> dict[str, Any]:
        """One JSON object: the data of all sections. A section without data has the rows of its tables under its title.

        The rows of tables in the head are under the title of the document.
        """
        found: dict[str, Any] = {}
        for part in (Section(self.title, self.head), *self.parts):
            if isinstance(part, Section):
                rows = [record for each in part.parts if isinstance(each, Table) for record in each.records()]
                found |= part.data if part.data is not None else {part.title: rows} if rows else {}
        return found

    def plots(self) -> Iterator[tuple[Plot, Table | None]]:
        """All plots, each with the table of its numbers."""
        return _plots(self.parts)


class Told:
    """A value that its `document()` describes: `str` is the text of the document, `repr` one line of it."""

    def document(self, *_given: Any) -> Document:
        """The document that describes the value."""
        raise NotImplementedError

    def __str__(self) -> str:
        return str(self.document())

    def headline(self) -> str:
        """The headline of the document."""
        document = self.document()
        return document.line or document.title

    def __repr__(self) -> str:
        text = f"{type(self).__name__}: {printable(self.headline())}"
        return f"<{text}>" if len(text) <= MOST_OF_REPR - 2 else f"<{text[: MOST_OF_REPR - 3]}…>"


def _before_sections(parts: Sequence[Part]) -> Sequence[Part]:
    return parts[: next((k for k, part in enumerate(parts) if isinstance(part, Section)), len(parts))]


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


def _blocks(title: str, parts: Sequence[Part], line: str) -> Iterator[str]:
    """A heading with the parts below it, indented, then the sections."""
    head = _before_sections(parts)
    yield "\n".join([title, line * len(title), *(["\n\n".join(_text(head))] if head else [])])
    for part in parts[len(head) :]:
        yield from _blocks(part.title, part.parts, "-") if isinstance(part, Section) else _text([part])


def _text(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        match part:
            case Table():
                yield textwrap.indent("\n".join([part.caption] * bool(part.caption) + _lines(part)), "  ")
                yield from (_wrapped(f"{'; '.join(names)}: {remark}") for remark, names in part.remarked().items())
            case Facts(pairs):
                yield textwrap.indent("\n".join(aligned(pairs, (0, 1))), "  ")
            case Prose(text):
                yield _wrapped(text)
            case Points(texts):
                yield "\n".join(map(_wrapped, texts))
            case Listing(text):
                yield textwrap.indent(text, "  ")


def _lines(table: Table) -> list[str]:
    """The header and the rows of a table. Where they are too long, the column `below` has lines of its own."""
    columns = table.columns
    rows = [row for row in (table.header, *table.rows) if row is not table.header or any(table.header)]
    left = [at for at, k in enumerate(columns) if k not in table.right]
    lines = aligned([[row[k] for k in columns] for row in rows], left)
    if table.below not in columns or max(map(len, lines), default=0) + 2 <= WIDTH:
        return lines
    rest = [k for k in columns if k != table.below]
    lines = aligned([[row[k] for k in rest] for row in rows], [at for at, k in enumerate(rest) if k not in table.right])
    indent = " " * sum(max(len(str(row[k])) for row in rows) + 2 for k in rest[: rest.index(table.name)])
    below = [[f"{indent}{row[table.below]}"] if str(row[table.below]) else [] for row in rows]
    return [each for line, more in zip(lines, below, strict=True) for each in (line, *more)]


def _wrapped(text: str) -> str:
    """An indented paragraph. A number stays with its unit, and a name with its value."""
    joined = re.sub(r"(?<=\d) (?=[A-Za-zµ%×])|(?<=\w) (?== )|(?<==) ", "\xa0", text)
    return textwrap.indent(textwrap.fill(joined, WIDTH - 2, break_long_words=False, break_on_hyphens=False), "  ").replace(
        "\xa0", " "
    )


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
                rules = ["---:" if k in part.right else "---" for k in part.columns]
                lines = [_row([_plain(row[k]) for k in part.columns]) for row in (header, *rows)]
                yield "\n".join([lines[0], _row(rules), *lines[1:]])
                if noted := part.remarked():
                    yield "\n".join(f"- {_plain('; '.join(names))}: {_plain(remark)}" for remark, names in noted.items())
            case Facts(pairs):
                yield "\n".join(f"- {_plain(name)}: {_plain(value)}" for name, value in pairs)
            case Prose(text):
                yield _plain(text)
            case Points(texts):
                yield "\n".join(f"- {_plain(text)}" for text in texts)
            case Listing(text):
                yield textwrap.indent(text, "    ")
            case Section(title, inner):
                yield f"{'#' * level} {_plain(title)}"
                yield from _markdown(inner, level + 1)
