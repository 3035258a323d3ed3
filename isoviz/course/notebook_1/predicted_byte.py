"""1.1: at which byte does an element lie?"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Number, linear_of
from isoviz.course.notebook_1.layout_pictures import Marked, fields_moved, lying_at, order_reversed, tape_picture

_DTYPES = ("uint8", "uint16", "float32", "float64")
_LAYOUT = "<y, F, x>"  # the notebook explains <x, F, y>; with F at an end, fewer of the wrong models go wrong


def _draw(source: random.Random) -> dict[str, Any]:
    while True:
        sizes = {"x": source.choice((4, 5, 6, 8)), "y": source.choice((3, 4, 5))}
        fields = dict(zip("ab", source.sample(_DTYPES, 2), strict=True))
        index = {dim: source.randrange(1, size) for dim, size in sizes.items()}
        given = {"sizes": sizes, "fields": fields, "layout": _LAYOUT, "index": index, "field": "b"}
        others = [model.answer(given) for model in PREDICTED_BYTE.models if model.explains is None]
        if not any(_has_no_start(byte, given) for byte in others):
            return given


def _byte(given: Given, layout: str | None = None, index: Mapping[str, int] | None = None, field: str | None = None) -> int:
    return linear_of(given, layout).offset(given["index"] if index is None else index, field or given["field"])


def _elements_before(given: Given) -> int:
    asked = (tuple(given["index"].values()), given["field"])
    return next(number for number, element in enumerate(linear_of(given).order()) if element == asked)


def _without_start(given: Given) -> int:
    """The right strides, but b of the first entry at byte 0."""
    return _byte(given) - linear_of(given).field_base(given["field"])


def _one_field_passed(given: Given) -> int:
    """A step along the slowest dimension passes elements of this field only."""
    linear, field = linear_of(given), given["field"]
    (fast, stride), (slow, _) = linear.strides(field)
    at = given["index"]
    return int(linear.field_base(field) + stride * (at[fast.dim] + fast.extent * at[slow.dim]))


def _has_no_start(byte: int, given: Given) -> bool:
    """The start of b was forgotten, with the right strides or with wrong ones."""
    start = linear_of(given).field_base(given["field"])
    return byte in (_without_start(given), _one_field_passed(given) - start, _byte(given, field="a"))


def _judge(byte: int, given: Given) -> Verdict:
    linear, asked = linear_of(given), _byte(given)
    if byte == asked:
        says = PREDICTED_BYTE.text("says", "right", given=given, answer=byte)
    elif byte >= linear.nbytes:
        says = PREDICTED_BYTE.text("says", "behind", given=given, answer=byte, nbytes=linear.nbytes)
    else:
        says = PREDICTED_BYTE.text("says", "other", given=given, answer=byte, here=lying_at(linear, byte))
    found = Marked(asked, f"asked: byte {asked}", True, linear.fields.sizes[1])
    marks = (found,) if byte == asked else (Marked(byte, f"your byte {byte}"), found)
    title = PREDICTED_BYTE.text("says", "picture", given=given)
    return Verdict(byte == asked, says, {"answer": byte}, lambda: tape_picture(linear, title, *marks))


def _words(given: Given) -> dict[str, object]:
    linear, (a, b) = linear_of(given), given["fields"].values()
    index, field = given["index"], given["field"]
    strides = linear.strides(field)
    steps = " + ".join(f"{index[digit.dim]} × {stride} B along {digit.dim}" for digit, stride in strides)
    return {
        "nx": given["sizes"]["x"], "ny": given["sizes"]["y"],
        "last_x": given["sizes"]["x"] - 1, "last_y": given["sizes"]["y"] - 1,
        "a": a, "b": b, "size_a": linear.fields.sizes[0], "size_b": linear.fields.sizes[1],
        "i": index["x"], "j": index["y"], "i_before": index["x"] - 1, "j_before": index["y"] - 1,
        "fast": strides[0][0].dim, "slow": strides[1][0].dim, "count": strides[0][0].extent,
        "byte": _byte(given), "steps": steps, "begin": linear.field_base(field),
    }  # fmt: skip


PREDICTED_BYTE = Exercise(
    "1.1",
    Number("a byte", "B", whole=True, least=0),
    _draw,
    _judge,
    (
        WrongModel("order-reversed", lambda given: _byte(given, order_reversed(given["layout"]))),
        WrongModel("fields-innermost", lambda given: _byte(given, fields_moved(given["layout"], 0))),
        WrongModel("fields-outermost", lambda given: _byte(given, fields_moved(given["layout"], -1))),
        WrongModel("elements-for-bytes", _elements_before),
        WrongModel("one-size-for-all", lambda given: _byte({**given, "fields": dict.fromkeys("ab", given["fields"]["b"])})),
        WrongModel("counted-from-one", lambda given: _byte(given, index={dim: at - 1 for dim, at in given["index"].items()})),
        WrongModel("other-field-passed-over", _one_field_passed),
        WrongModel("field-start-forgotten", _without_start, explains=_has_no_start),
    ),
    _byte,
    words=_words,
    is_prediction=True,
)
