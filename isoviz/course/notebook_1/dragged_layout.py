"""1.2: which layout makes a tape?"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import LayoutAnswer, linear_of
from isoviz.course.notebook_1.layout_pictures import (
    block_changed,
    block_dissolved,
    difference,
    digits_swapped,
    fields_moved,
    order_reversed,
    parts_of,
    swapped,
    tape_picture,
    tapes_picture,
)
from isoviz.layouts import Linearization

_DTYPES = ("uint8", "uint16", "int32", "float32", "float64")
_LAYOUTS = ("<x_in={}, F, x_out, y>", "<x_in={}, F, y, x_out>", "<x_in={}, y, F, x_out>", "<y, x_in={}, F, x_out>")
_SIZES = ((6, 2, 2), (6, 2, 3), (6, 3, 2), (6, 3, 3), (8, 2, 2), (8, 4, 2))
"""The size of the dimension that has blocks, its block, and the size of the other one: few enough to write the whole tape."""
_BEGIN = "<F, x, y>"


def _draw(source: random.Random) -> dict[str, Any]:
    size, block, other = source.choice(_SIZES)
    layout, sizes, split = source.choice(_LAYOUTS).format(block), {"x": size, "y": other}, "x"
    if source.random() < 0.5:
        layout, sizes, split = swapped(layout, "x", "y"), {"x": other, "y": size}, "y"
    fields = dict(zip("ab", source.sample(_DTYPES, 2), strict=True))
    return {"sizes": sizes, "fields": fields, "layout": layout, "split": split, "block": block, "blocks": size // block}


def _in(written: Callable[[Given], str]) -> Callable[[Given], Linearization]:
    """The array of the exercise in the layout that somebody writes."""
    return lambda given: linear_of(given, written(given))


def _exchanged(given: Given) -> str:
    """The layout with x for y. A block that is too long for the other dimension is all of it."""
    layout, other = swapped(given["layout"], "x", "y"), "y" if given["split"] == "x" else "x"
    return block_changed(layout, other, min(given["block"], given["sizes"][other]))


def _has_other_block(answer: Linearization, given: Given) -> bool:
    inner = next((part for part in parts_of(str(answer.layout)) if part.startswith(f"{given['split']}_in=")), "")
    return bool(inner) and block_changed(given["layout"], given["split"], int(inner.partition("=")[2])) == str(answer.layout)


def _names(layout: str) -> list[str]:
    """The components in their order, without the sizes of blocks."""
    return [part.partition("=")[0] for part in parts_of(layout)]


def _is_reversed(answer: Linearization, given: Given) -> bool:
    """Whether a layout is the asked one read backwards. Sizes of blocks and the order of digits play no part."""
    layouts = given["layout"], digits_swapped(given["layout"], given["split"])
    return answer.same_as(_in(_order_reversed)(given)) or _names(str(answer.layout)) in [_names(each)[::-1] for each in layouts]


def _order_reversed(given: Given) -> str:
    return order_reversed(given["layout"])


def _judge(answer: Linearization, given: Given) -> Verdict:
    asked = linear_of(given)
    found = difference(asked, answer)
    if found is None:
        return Verdict(True, DRAGGED_LAYOUT.text("says", "right", given=given, answer=answer.layout))
    words = {"byte": found.byte, "asked": found.one, "yours": found.other, "answer": answer.layout}
    says = DRAGGED_LAYOUT.text("says", "other", given=given, **words)
    title = DRAGGED_LAYOUT.text("says", "picture", given=given)
    return Verdict(False, says, words, lambda: tapes_picture(asked, answer, ("asked", "yours"), title))


def _words(given: Given) -> dict[str, object]:
    linear = linear_of(given)
    (a, size_a), (b, size_b) = zip(given["fields"].values(), linear.fields.sizes, strict=True)
    tape = [f"{field}{''.join(map(str, index))}" for index, field in linear.order()]
    return {
        "nx": given["sizes"]["x"], "ny": given["sizes"]["y"], "a": a, "b": b, "size_a": size_a, "size_b": size_b,
        "tape": " ".join(tape),
        "together": linear.inner_count, "entries": linear.space.volume,
    }  # fmt: skip


def _asked_tape(given: Given) -> Any:
    return tape_picture(linear_of(given), DRAGGED_LAYOUT.text("says", "given", given=given))


def _pane(given: Given, check: Callable[[Any], Any]) -> Any:
    from isoviz.widgets.views.layout_views import LayoutEditor

    return LayoutEditor(_BEGIN, space=given["sizes"], fields=given["fields"], check=check, fixed=True)


DRAGGED_LAYOUT = Exercise(
    "1.2",
    LayoutAnswer(),
    _draw,
    _judge,
    (
        WrongModel("order-reversed", _in(_order_reversed), explains=_is_reversed),
        WrongModel("fields-innermost", _in(lambda given: fields_moved(given["layout"], 0))),
        WrongModel("fields-outermost", _in(lambda given: fields_moved(given["layout"], -1))),
        WrongModel("outer-digit-first", _in(lambda given: digits_swapped(given["layout"], given["split"]))),
        WrongModel("dimensions-swapped", _in(_exchanged)),
        WrongModel(
            "other-block",
            _in(lambda given: block_changed(given["layout"], given["split"], given["blocks"])),
            explains=_has_other_block,
        ),
        WrongModel(
            "not-split",
            _in(lambda given: block_dissolved(given["layout"], given["split"])),
            explains=lambda answer, _given: not answer.layout.is_blocked,
        ),
    ),
    linear_of,
    words=_words,
    picture=_asked_tape,
    pane=_pane,
    hidden=("layout", "split", "block", "blocks"),
)
