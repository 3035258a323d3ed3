"""1.4: which two arrays of NumPy lie in memory in the same way?"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import LayoutAnswer, Order, Several, linear_of
from isoviz.course.notebook_1.layout_pictures import difference, parts_of, tapes_picture, written
from isoviz.layouts import Linearization

_NAMES = "ABCDE"
Array = Mapping[str, Any]
"""How an array is made: the `axes` of its shape, whether it is `ordered` "F", whether it is `turned` by .T afterwards."""


def _candidates() -> list[dict[str, Any]]:
    axes = [*itertools.permutations("fyx"), *itertools.permutations("yx")]
    ways = ((False, False), (True, False), (False, True))
    return [{"axes": "".join(each), "ordered": ordered, "turned": turned} for each in axes for ordered, turned in ways]


_CANDIDATES = _candidates()


def _fastest_first(axes: str) -> str:
    """The layout of a C-order array with these axes. Without the axis f its elements are structs: both fields of an entry."""
    parts = ["F" if axis == "f" else axis for axis in reversed(axes)]
    return written(parts if "F" in parts else ["F", *parts])


def _layout(array: Array) -> str:
    """The last axis is the fastest; with order F the first one. `.T` only renames the axes: nothing moves."""
    return _fastest_first(array["axes"][::-1] if array["ordered"] else array["axes"])


def _order_ignored(array: Array) -> str:
    return _fastest_first(array["axes"])


def _moved_by_turning(array: Array) -> str:
    return _layout({**array, "ordered": not array["ordered"]}) if array["turned"] else _layout(array)


def _turned_in_part(array: Array) -> str:
    """Somebody who thinks that `.T` exchanges the first two of three axes and leaves the last one."""
    shown = array["axes"][::-1]
    return _fastest_first(shown[1] + shown[0] + shown[2]) if array["turned"] and len(shown) > 2 else _layout(array)


_BELIEFS: tuple[Callable[[Array], str], ...] = (_layout, _order_ignored, _moved_by_turning, _turned_in_part)
_LAYOUTS = [tuple(belief(array) for belief in _BELIEFS) for array in _CANDIDATES]
"""The layouts of the candidates: as it is, and as those with each wrong model say."""


def _pairs(layouts: Sequence[str]) -> list[tuple[int, int]]:
    """Which of some arrays share a layout."""
    return [(one, other) for one, other in itertools.combinations(range(len(layouts)), 2) if layouts[one] == layouts[other]]


def _draw(source: random.Random) -> dict[str, Any]:
    """Five arrays. Exactly two share a layout. By each wrong model, two others share one."""
    sizes = dict(zip("xy", source.sample((3, 4, 5, 6), 2), strict=True))
    while True:
        chosen = source.sample(range(len(_CANDIDATES)), len(_NAMES))
        pairs = [_pairs(layouts) for layouts in zip(*(_LAYOUTS[each] for each in chosen), strict=True)]
        if all(len(each) == 1 for each in pairs) and len({each[0] for each in pairs}) == len(pairs):
            arrays = {name: _CANDIDATES[each] for name, each in zip(_NAMES, chosen, strict=True)}
            return {"sizes": sizes, "fields": {"a": "float32", "b": "float32"}, "arrays": arrays}


def _answer(given: Given, layout: Callable[[Array], str]) -> dict[str, Any]:
    layouts = [layout(array) for array in given["arrays"].values()]
    ((one, other),) = _pairs(layouts)
    return {"pair": [_NAMES[one], _NAMES[other]], "layout": linear_of(given, layouts[one])}


def _wrong_pair(name: str, layout: Callable[[Array], str]) -> WrongModel:
    """Somebody who believes that two other arrays share a layout. The layout that is given plays no part."""
    return WrongModel(
        name,
        lambda given: _answer(given, layout),
        explains=lambda answer, given: answer["pair"] == _answer(given, layout)["pair"],
    )


def _reversed(given: Given) -> dict[str, Any]:
    right = _answer(given, _layout)
    return {**right, "layout": linear_of(given, written(parts_of(str(right["layout"].layout))[::-1]))}


def _of(given: Given, name: str) -> Linearization:
    return linear_of(given, _layout(given["arrays"][name]))


def _judge(answer: Any, given: Given) -> Verdict:
    (one, other), layout = answer["pair"], answer["layout"]
    title = NUMPY_ARRAYS.text("says", "picture", given=given)
    first, second, names, says = _of(given, one), _of(given, other), (one, other), "pair"
    found = difference(first, second)
    if found is None:
        second, names, says = layout, (one, "yours"), "layout"
        found = difference(first, layout)
    words: dict[str, object] = {"one": one, "other": other, "yours": str(layout.layout)}
    if found is None:
        return Verdict(True, NUMPY_ARRAYS.text("says", "right", given=given, **words), words)
    words |= {"byte": found.byte, "in_one": found.one, "in_other": found.other}
    told = NUMPY_ARRAYS.text("says", says, given=given, **words)
    return Verdict(False, told, words, lambda: tapes_picture(first, second, names, title))


def _code(name: str, array: Array, sizes: Mapping[str, int]) -> str:
    axes, is_struct = array["axes"], "f" not in array["axes"]
    shape = ", ".join(str({"f": 2, **sizes}[axis]) for axis in axes)
    options = ', order="F"' if array["ordered"] else ""
    shown = ", ".join(axes[::-1] if array["turned"] else axes)
    element = f'{name}[{shown}]["a"]' if is_struct else f"{name}[{shown}]"
    dtype = "entry" if is_struct else '"float32"'
    return f"{name} = np.zeros(({shape}), {dtype}{options}){'.T' if array['turned'] else ''} — an element is {element}"


def _words(given: Given) -> dict[str, object]:
    right = _answer(given, _layout)
    one, other = right["pair"]
    return {
        "listing": "\n".join(_code(name, array, given["sizes"]) for name, array in given["arrays"].items()),
        "nx": given["sizes"]["x"], "ny": given["sizes"]["y"],
        "right_one": one, "right_other": other, "right_layout": str(right["layout"].layout),
    }  # fmt: skip


NUMPY_ARRAYS = Exercise(
    "1.4",
    Several({"pair": Order(lambda _given: list(_NAMES), size=2, sorted=True), "layout": LayoutAnswer()}),
    _draw,
    _judge,
    (
        WrongModel("order-reversed", _reversed),
        _wrong_pair("order-ignored", _order_ignored),
        _wrong_pair("moved-by-turning", _moved_by_turning),
        _wrong_pair("turned-in-part", _turned_in_part),
    ),
    lambda given: _answer(given, _layout),
    words=_words,
)
