"""1.6: which layouts does an array have before and after NumPy has rearranged it?"""

from __future__ import annotations

import random
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import LayoutAnswer, Several, linear_of
from isoviz.course.notebook_1.layout_pictures import block_changed, difference, digits_swapped, parts_of, tapes_picture, written
from isoviz.layouts import Linearization
from isoviz.units import format_bytes

_SIZES = ((4, 2), (6, 2), (6, 3), (8, 2), (8, 4))
"""Sizes of h or w with a block that divides them."""


def _draw(source: random.Random) -> dict[str, Any]:
    split = source.choice("hw")
    size, block = source.choice(_SIZES)
    sizes = {"h": source.choice((3, 4, 5)), "w": source.choice((3, 4, 5)), "c": source.choice((2, 3)), split: size}
    before = source.choice(("hwc", "chw"))
    axes = [*before.replace(split, "")]
    place = before.index(split)
    axes[place:place] = [f"{split}_out", f"{split}_in"]
    after = list(axes)
    while after.index(f"{split}_in") == after.index(f"{split}_out") + 1:  # then the dimension would not be split
        source.shuffle(after)
    return {
        "sizes": sizes, "fields": {"value": "float32"}, "split": split, "block": block, "blocks": size // block,
        "axes": list(before), "reshaped": axes, "moved": after,
    }  # fmt: skip


def _c_order(axes: list[str], split: str, block: int) -> str:
    """The layout of a C-order array with these axes: the last one is the fastest."""
    parts = [f"{axis}={block}" if axis == f"{split}_in" else axis for axis in reversed(axes)]
    return written(["F", *parts])


def _before(given: Given) -> str:
    return _c_order(given["axes"], given["split"], given["block"])


def _after(given: Given) -> str:
    return _c_order(given["moved"], given["split"], given["block"])


def _ends(given: Given, before: str, after: str) -> dict[str, Any]:
    return {"before": linear_of(given, before), "after": linear_of(given, after)}


def _first_axis_fastest(given: Given) -> dict[str, Any]:
    split, block = given["split"], given["block"]
    return _ends(given, *(_c_order(given[axes][::-1], split, block) for axes in ("axes", "moved")))


def _names(linear: Linearization) -> list[str]:
    """The components in their order, without F and the sizes of blocks."""
    return [name for part in parts_of(str(linear.layout)) if (name := part.partition("=")[0]) != "F"]


def _is_first_axis_fastest(answer: Any, given: Given) -> bool:
    """In one of both arrays at least."""
    wrong = _first_axis_fastest(given)
    return any(answer[end].same_as(wrong[end]) for end in wrong)


def _has_digits_swapped(answer: Any, given: Given) -> bool:
    """In after, whatever the block there, and whatever before is."""
    swapped = digits_swapped(_after(given), given["split"])
    return answer["after"].same_as(linear_of(given, swapped)) or _names(answer["after"]) == _names(linear_of(given, swapped))


def _has_count_for_block(answer: Any, given: Given) -> bool:
    wrong = _counted(given)
    return wrong is not None and answer["after"].same_as(wrong["after"])


def _judge(answer: Any, given: Given) -> Verdict:
    right = _ends(given, _before(given), _after(given))
    end = next((each for each in right if not right[each].same_as(answer[each])), None)
    if end is None:
        return Verdict(True, REARRANGED_ARRAY.text("says", "right", given=given))
    asked, yours = right[end], answer[end]
    found = difference(asked, yours)
    assert found is not None
    words = {"end": end, "byte": found.byte, "asked": found.one, "yours": found.other, "answer": str(yours.layout)}
    says = REARRANGED_ARRAY.text("says", "other", given=given, **words)
    title = REARRANGED_ARRAY.text("says", "picture", given=given, **words)
    return Verdict(False, says, words, lambda: tapes_picture(asked, yours, (end, "yours"), title))


def _words(given: Given) -> dict[str, object]:
    sizes, split, block = given["sizes"], given["split"], given["block"]
    extents = {**sizes, f"{split}_out": given["blocks"], f"{split}_in": block}
    indices = {**{dim: dim for dim in sizes}, f"{split}_out": f"{split} // {block}", f"{split}_in": f"{split} % {block}"}
    order = ", ".join(str(given["reshaped"].index(axis)) for axis in given["moved"])
    shape = ", ".join(str(extents[axis]) for axis in given["axes"])
    reshaped = ", ".join(str(extents[axis]) for axis in given["reshaped"])
    before, after = (", ".join(indices[axis] for axis in given[axes]) for axes in ("axes", "moved"))
    return {
        "listing": f'before = np.zeros(({shape}), "float32")\n'
        f"after = before.reshape({reshaped}).transpose({order}).copy()",
        "before_index": before, "after_index": after, "nh": sizes["h"], "nw": sizes["w"], "nc": sizes["c"],
        "right_before": _before(given), "right_after": _after(given),
        "nbytes": format_bytes(linear_of(given, _before(given)).nbytes),
    }  # fmt: skip


def _counted(given: Given) -> dict[str, Any] | None:
    """Somebody who takes the number of blocks for their size."""
    changed = block_changed(_after(given), given["split"], given["blocks"])
    return None if given["blocks"] == given["block"] else _ends(given, _before(given), changed)


REARRANGED_ARRAY = Exercise(
    "1.6",
    Several({"before": LayoutAnswer(), "after": LayoutAnswer()}),
    _draw,
    _judge,
    (
        WrongModel(
            "nothing-moved",
            lambda given: _ends(given, _before(given), _before(given)),
            explains=lambda answer, _given: answer["before"].same_as(answer["after"]),
        ),
        WrongModel("first-axis-fastest", _first_axis_fastest, explains=_is_first_axis_fastest),
        WrongModel(
            "digits-swapped",
            lambda given: _ends(given, _before(given), digits_swapped(_after(given), given["split"])),
            explains=_has_digits_swapped,
        ),
        WrongModel("count-for-block", _counted, explains=_has_count_for_block),
    ),
    lambda given: _ends(given, _before(given), _after(given)),
    words=_words,
    hidden=("blocks", "reshaped", "moved"),
)
