"""2.4: two layouts between, so that a conversion has long runs at both ends and a small buffer between."""

from __future__ import annotations

import html
import itertools
import random
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from isoviz.course.exercise import Exercise, Given, Texts, Verdict, WrongModel
from isoviz.course.kinds import LayoutAnswer, Several, linear_of
from isoviz.course.notebook_2.two_layouts import PicturesBelow, plain_number
from isoviz.layouts import Linearization, Mode, compare
from isoviz.units import format_share

SOURCE, DESTINATION = "<F, x, y>", "<F, y, x>"
_DTYPES = ("float32", "float64", "complex64", "complex128")
_ROOM = 1.5
"""The buffer over the least block that has both runs."""


class Hops(NamedTuple):
    """What the three hops of an answer cost, in bytes. `padding` is that of the layout that has more of it."""

    first_run: float
    shuffle: int
    last_run: float
    padding: int


def _draw(source: random.Random) -> dict[str, Any]:
    least = source.choice((6, 8, 9, 10, 12))
    dtype = source.choice(_DTYPES)
    sizes = {dim: source.choice([size for size in (48, 54, 60, 64, 72, 80, 84, 90, 96) if size % least == 0]) for dim in "xy"}
    given: dict[str, Any] = {"sizes": sizes, "fields": {"v": dtype}}
    entry = linear_of(given, SOURCE).fields.nbytes
    return {**given, "run": least * entry, "shuffle": int(_ROOM * least * least * entry)}


def _entry(given: Given) -> int:
    return linear_of(given, SOURCE).fields.nbytes


def _hops(answer: Mapping[str, Linearization], given: Given) -> Hops:
    path = [linear_of(given, SOURCE), answer["first"], answer["second"], linear_of(given, DESTINATION)]
    first, between, last = (compare(here, there) for here, there in itertools.pairwise(path))
    # A hop that keeps the layout holds nothing.
    shuffle = 0 if path[1].same_as(path[2]) else between.shuffle_bytes
    return Hops(first.run_bytes, shuffle, last.run_bytes, max(each.nbytes - each.payload for each in path))


def _layouts(given: Given, first: str, second: str) -> dict[str, Linearization]:
    return {"first": linear_of(given, first), "second": linear_of(given, second)}


def _blocks(given: Given, x: int, y: int, *, is_turned: bool = True) -> dict[str, Linearization]:
    """Blocks of x × y entries; `is_turned`: the order in a block is another one behind the second hop."""
    rows = f"<F, x_in={x}, y_in={y}, x_out, y_out>"
    return _layouts(given, rows, f"<F, y_in={y}, x_in={x}, x_out, y_out>" if is_turned else rows)


def _least(given: Given) -> int:
    return int(given["run"]) // _entry(given)


def _right(given: Given) -> dict[str, Linearization]:
    return _blocks(given, _least(given), _least(given))


def _not_met(hops: Hops, given: Given) -> list[str]:
    demands = (
        ("hop 1", hops.first_run >= given["run"]),
        ("hop 2", hops.shuffle <= given["shuffle"]),
        ("hop 3", hops.last_run >= given["run"]),
    )
    return [key for key, is_met in demands if not is_met]


def _cut(answer: Mapping[str, Linearization], given: Given) -> int | None:
    """The dimensions whose blocks follow each other in the same order on the hop between, where only this hop is too much."""
    if _not_met(_hops(answer, given), given) != ["hop 2"]:
        return None
    suffix = compare(answer["first"], answer["second"]).suffix
    return len({part.dim for part in suffix if isinstance(part, Mode)})


def _is_in_entries(answer: Mapping[str, Linearization], given: Given) -> bool:
    return _cut(answer, given) == 2 and _hops(answer, given).shuffle <= given["shuffle"] * _entry(given)


def _is_not_converted(answer: Mapping[str, Linearization], given: Given) -> bool:
    """Whether an end has runs of single entries: nothing between turned the order."""
    hops = _hops(answer, given)
    return bool(_not_met(hops, given)) and min(hops.first_run, hops.last_run) == _entry(given)


def _is_short(answer: Mapping[str, Linearization], given: Given) -> bool:
    missing = _not_met(_hops(answer, given), given)
    return bool(missing) and "hop 2" not in missing


def _too_large(given: Given) -> dict[str, Linearization]:
    """Blocks of as many entries as the buffer has bytes, at most, that go through no dimension as a whole."""
    most, least = int(given["shuffle"]), _least(given)
    x, y = ([n for n in range(least, size) if size % n == 0] for size in given["sizes"].values())
    found = max(((a, b) for a in x for b in y if a * b <= most), key=lambda block: block[0] * block[1])
    return _blocks(given, *found)


def _uncut(given: Given) -> dict[str, Linearization]:
    return _layouts(given, SOURCE, DESTINATION)


def _not_turned(given: Given) -> dict[str, Linearization]:
    return _blocks(given, _least(given), _least(given), is_turned=False)


def _half(given: Given) -> dict[str, Linearization]:
    return _blocks(given, _least(given) // 2, _least(given) // 2)


def _once_cut(given: Given) -> dict[str, Linearization]:
    return _layouts(given, f"<F, x_in={_least(given)}, y, x_out>", f"<F, y, x_in={_least(given)}, x_out>")


def _judge(answer: dict[str, Linearization], given: Given) -> Verdict:
    hops = _hops(answer, given)
    missing = _not_met(hops, given)
    words = {
        "first": str(answer["first"].layout),
        "second": str(answer["second"].layout),
        "run_1": plain_number(hops.first_run),
        "run_3": plain_number(hops.last_run),
        "shuffle": f"{hops.shuffle:,}",
        "entries": f"{hops.shuffle // _entry(given):,}",
        "padding": format_share(hops.padding / linear_of(given, SOURCE).nbytes) if hops.padding else "nothing",
    }
    says = " ".join(THREE_HOPS.text("says", key, given=given, **words) for key in missing or ["right"])
    cost = "" if missing else THREE_HOPS.text("says", "cost", given=given, **words)
    return Verdict(not missing, says, words, lambda: _picture(answer, given), cost)


def _picture(answer: Mapping[str, Linearization], given: Given) -> PicturesBelow:
    from isoviz.figures.layouts.stops import HopWords, stops_svg

    stops = [linear_of(given, SOURCE), answer["first"], answer["second"], linear_of(given, DESTINATION)]
    hops, missing = _hops(answer, given), _not_met(_hops(answer, given), given)
    figures = (
        f"run {plain_number(hops.first_run)}\xa0B",
        f"shuffle {hops.shuffle:,}\xa0B",
        f"run {plain_number(hops.last_run)}\xa0B",
    )
    words = [HopWords(text, f"hop {number}" not in missing) for number, text in enumerate(figures, 1)]
    return PicturesBelow(("", lambda: stops_svg(stops, words, THREE_HOPS.text("says", "picture", given=given))))


def _words(given: Given) -> dict[str, object]:
    right, least = _right(given), _least(given)
    return {
        "nx": given["sizes"]["x"], "ny": given["sizes"]["y"], "dtype": given["fields"]["v"], "entry": _entry(given),
        "source": SOURCE, "destination": DESTINATION, "least_run": f"{given['run']:,}", "most_shuffle": f"{given['shuffle']:,}",
        "right_first": right["first"].layout, "right_second": right["second"].layout,
        "least_count": least, "least_block": f"{least * least * _entry(given):,}",
    }  # fmt: skip


class LayoutsBetween(NamedTuple):
    """The editors of both layouts. The second one has the button that checks both."""

    first: Any
    second: Any

    def show(self) -> None:
        """Display them below each other."""
        from IPython.display import HTML, display

        for key, editor in zip(("behind hop 1", "behind hop 2"), self, strict=True):
            words = Texts.of(2).text("2.4", "says", key)
            display(HTML(f"<p>{html.escape(words)}</p>"))
            editor.show()

    def close(self) -> None:
        """Take them off the page."""
        for editor in self:
            editor.close()


def _pane(given: Given, check: Callable[[Any], Any]) -> LayoutsBetween:
    from isoviz.widgets.views.layout_views import LayoutEditor

    array = {"space": given["sizes"], "fields": given["fields"]}
    first = LayoutEditor(SOURCE, **array, fixed=True)
    return LayoutsBetween(first, LayoutEditor(DESTINATION, **array, fixed=True, check=lambda second: check((first, second))))


def _apart(given: Given) -> bool:
    """Whether each wrong model makes what only it explains."""
    return all(model is THREE_HOPS.model_of(model.answer(given), given) for model in THREE_HOPS.models)


THREE_HOPS = Exercise(
    "2.4",
    Several({"first": LayoutAnswer(), "second": LayoutAnswer()}),
    _draw,
    _judge,
    (
        WrongModel("no-blocks", _uncut, lambda answer, given: _cut(answer, given) == 0),
        WrongModel("one-dimension-cut", _once_cut, lambda answer, given: _cut(answer, given) == 1),
        WrongModel("not-converted", _not_turned, _is_not_converted),
        WrongModel("entries-for-bytes", _too_large, _is_in_entries),
        WrongModel("short-blocks", _half, _is_short),
    ),
    _right,
    words=_words,
    pane=_pane,
    apart=_apart,
)
