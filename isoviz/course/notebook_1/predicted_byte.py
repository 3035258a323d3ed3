"""1.1: at which byte does an element lie?"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Number, linear_of
from isoviz.course.layout_models import fields_moved, order_reversed
from isoviz.course.layout_pictures import layout_picture, lying_at

_DTYPES = ("uint8", "uint16", "float32", "float64")
_LAYOUTS = ("<x, F, y>", "<y, F, x>", "<x_in=2, F, y, x_out>", "<x_in=2, F, x_out, y>")


def _draw(source: random.Random) -> dict[str, Any]:
    sizes = {"x": source.choice((6, 8, 10, 12)), "y": source.choice((4, 5, 7))}
    fields = dict(zip("ab", source.sample(_DTYPES, 2), strict=True))
    index = {dim: source.randrange(2, size) for dim, size in sizes.items()}
    return {"sizes": sizes, "fields": fields, "layout": source.choice(_LAYOUTS), "index": index, "field": "b"}


def _byte(given: Given, layout: str | None = None, index: Mapping[str, int] | None = None, field: str | None = None) -> int:
    return linear_of(given, layout).offset(given["index"] if index is None else index, field or given["field"])


def _elements_before(given: Given) -> int:
    asked = (tuple(given["index"].values()), given["field"])
    return next(number for number, element in enumerate(linear_of(given).order()) if element == asked)


def _judge(byte: int, given: Given) -> Verdict:
    linear = linear_of(given)
    right = byte == _byte(given)
    if right:
        says = PREDICTED_BYTE.text("says", "right", given=given, answer=byte)
    elif byte >= linear.nbytes:
        says = PREDICTED_BYTE.text("says", "behind", given=given, answer=byte, nbytes=linear.nbytes)
    else:
        says = PREDICTED_BYTE.text("says", "other", given=given, answer=byte, here=lying_at(linear, byte))
    return Verdict(right, says, {"answer": byte}, lambda: layout_picture(linear))


def _words(given: Given) -> dict[str, object]:
    linear, (a, b) = linear_of(given), given["fields"].values()
    index, field = given["index"], given["field"]
    strides = ", ".join(f"{digit.dim} (in steps of {digit.step}) {stride} B" for digit, stride in linear.strides(field))
    return {
        "nx": given["sizes"]["x"], "ny": given["sizes"]["y"],
        "last_x": given["sizes"]["x"] - 1, "last_y": given["sizes"]["y"] - 1,
        "a": a, "b": b, "size_a": linear.fields.sizes[0], "size_b": linear.fields.sizes[1],
        "i": index["x"], "j": index["y"], "i_before": index["x"] - 1, "j_before": index["y"] - 1,
        "byte": _byte(given), "strides": strides, "begin": linear.field_base(field),
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
        WrongModel("field-begin-forgotten", lambda given: _byte(given, field="a")),
    ),
    _byte,
    words=_words,
    is_prediction=True,
)
