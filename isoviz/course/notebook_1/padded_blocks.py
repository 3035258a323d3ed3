"""1.5: how many bytes does padding take, and which block leaves the least of it?"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from isoviz.course.exercise import Exercise, Given, Verdict, WrongModel
from isoviz.course.kinds import Number, Several
from isoviz.course.notebook_1.layout_pictures import Marked, tape_picture
from isoviz.layouts import FieldSpace, IndexSpace, Layout

_DTYPES = ("uint8", "uint16", "float32", "float64")
_BLOCKS = range(3, 9)


def _missing(size: int, block: int) -> int:
    """The places of the last block that no entry takes."""
    return -size % block


def _empty(places: int) -> str:
    return "1 place is empty" if places == 1 else f"{places or 'no'} places are empty"


def _last_entries(count: int) -> str:
    return "does the last entry" if count == 1 else f"do the last {count} entries"


def _least(size: int) -> list[int]:
    """The blocks that leave the least padding."""
    least = min(_missing(size, block) for block in _BLOCKS)
    return [block for block in _BLOCKS if _missing(size, block) == least]


def _draw(source: random.Random) -> dict[str, Any]:
    size, block = source.randrange(19, 60), source.choice(_BLOCKS)
    while not (_missing(size, block) and 8 not in _least(size) and block not in _least(size)):
        size, block = source.randrange(19, 60), source.choice(_BLOCKS)
    fields = dict(zip("ab", source.sample(_DTYPES, 2), strict=True))
    return {"sizes": {"x": size, "y": source.choice((5, 6, 7))}, "fields": fields, "block": block}


def _entry(given: Given) -> int:
    return FieldSpace(given["fields"]).nbytes


def _bytes(given: Given, along_x: int) -> int:
    ny: int = given["sizes"]["y"]
    return along_x * ny * _entry(given)


def _padded(given: Given) -> int:
    return _bytes(given, given["sizes"]["x"] + _missing(given["sizes"]["x"], given["block"]))


def _payload(given: Given) -> int:
    return _bytes(given, given["sizes"]["x"])


def _padded_at_the_end(given: Given) -> int:
    entries: int = given["sizes"]["x"] * given["sizes"]["y"]
    return (entries + _missing(entries, given["block"])) * _entry(given)


def _whole_blocks(given: Given) -> int:
    return _bytes(given, given["sizes"]["x"] - given["sizes"]["x"] % given["block"])


def _places(given: Given) -> int:
    return _padded(given) // _entry(given)


def _one_row(given: Given) -> int:
    return _padded(given) // int(given["sizes"]["y"])


def _wrong_bytes(name: str, nbytes: Callable[[Given], int], *others: Callable[[Given], int]) -> WrongModel:
    """Somebody who counts the bytes wrongly. The block plays no part. `others`: more counts that the same belief gives."""
    return WrongModel(
        name,
        lambda given: {"bytes": nbytes(given), "block": _least(given["sizes"]["x"])[0]},
        explains=lambda answer, given: answer["bytes"] in [each(given) for each in (nbytes, *others)],
    )


def _judge(answer: Any, given: Given) -> Verdict:
    nbytes, block, size, ny = answer["bytes"], answer["block"], given["sizes"]["x"], given["sizes"]["y"]
    if block not in _BLOCKS:
        return Verdict(
            False, PADDED_BLOCKS.text("says", "no block", given=given, answer=block), {"answer": nbytes, "yours": block}
        )
    missing = _missing(size, block)
    room, uneven = divmod(nbytes, ny * _entry(given))
    words: dict[str, object] = {
        "answer": f"{nbytes:,}", "room": f"{room:,}", "yours": block,
        "count": -(-size // block), "held": size - (size - 1) // block * block,
        "empty": _empty(missing),
    }  # fmt: skip
    is_least, is_counted = block in _least(size), nbytes == _padded(given)
    says = "right" if is_least else "block"
    if not is_counted:
        says = "uneven bytes" if uneven else "bytes"
    drawn = block if is_counted else given["block"]
    return Verdict(
        is_least and is_counted, PADDED_BLOCKS.text("says", says, given=given, **words), words, lambda: _row(given, drawn)
    )


def _row(given: Given, block: int) -> Any:
    """The entries of one y, in blocks."""
    linear = Layout(f"<F, x_in={block}, x_out>").on(IndexSpace(x=given["sizes"]["x"]), FieldSpace(given["fields"]))
    left = linear.nbytes - linear.payload
    marks = (Marked(linear.payload, f"{left} B of padding", nbytes=left),) if left else ()
    return tape_picture(linear, PADDED_BLOCKS.text("says", "picture", given=given, drawn=block), *marks)


def _words(given: Given) -> dict[str, object]:
    size, ny, block = given["sizes"]["x"], given["sizes"]["y"], given["block"]
    fields, least = FieldSpace(given["fields"]), _least(size)
    whole = size + _missing(size, block)
    return {
        "nx": size, "ny": ny, "a": given["fields"]["a"], "b": given["fields"]["b"],
        "size_a": fields.sizes[0], "size_b": fields.sizes[1], "entry": fields.nbytes,
        "full": size // block, "rest": _last_entries(size % block), "blocks": whole // block, "whole": whole,
        "bytes": f"{_padded(given):,}",
        "one": least[0], "least": " or ".join(map(str, least)), "least_empty": _empty(_missing(size, least[0])),
    }  # fmt: skip


PADDED_BLOCKS = Exercise(
    "1.5",
    Several(
        {"bytes": Number("the bytes of the array", "B", whole=True, least=0), "block": Number("a block", whole=True, least=1)}
    ),
    _draw,
    _judge,
    (
        _wrong_bytes("padding-forgotten", _payload),
        _wrong_bytes("padded-at-the-end", _padded_at_the_end),
        _wrong_bytes("last-block-dropped", _whole_blocks),
        _wrong_bytes("elements-for-bytes", _places),
        _wrong_bytes("one-row", _one_row, lambda given: _payload(given) // int(given["sizes"]["y"])),
        WrongModel(
            "largest-block",
            lambda given: {"bytes": _padded(given), "block": _BLOCKS[-1]},
            explains=lambda answer, given: answer["block"] == _BLOCKS[-1] and answer["bytes"] == _padded(given),
        ),
    ),
    lambda given: {"bytes": _padded(given), "block": _least(given["sizes"]["x"])[0]},
    words=_words,
)
