"""Tables of rows that stand beside a peer or a bound and have an aim (`isoviz.bench.result_rows`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from isoviz.bench.table import Row, Table, two_digits, where_known
from isoviz.units import format_seconds

COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "part": ("part", str),
    "what": ("what", str),
    "figure": ("isoviz", str),
    "beside": ("beside", str),
    "limit": ("its figure", str),
    "ratio": ("ratio", where_known(two_digits)),
    "aim": ("aim", where_known(lambda aim: f"≥ {aim:g}")),
    "met": ("met", where_known(lambda met: "yes" if met else "NO")),
    "predicted": ("predicted", where_known(format_seconds)),
}


class AimsTable(Table):
    """A table whose figures are seconds or shares, as each row says."""

    def __str__(self) -> str:
        return str(Table(self.name, self.title, self.columns, self.written(), self.notes, self.machine))

    def written(self) -> list[Row]:
        """The rows with their figures as text."""
        found: list[Row] = []
        for each in self.rows:
            write = format_seconds if each["unit"] == "s" else two_digits
            found.append({**each, **{key: "-" if each[key] is None else write(each[key]) for key in ("figure", "limit")}})
        return found
