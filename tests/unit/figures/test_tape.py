"""Tapes: each byte is in one stretch, two memories differ where a comparison byte by byte says, and marks are drawn and told."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from isoviz.figures.layouts.tape import Tape, TapeMark, first_difference, stretches, tapes_svg
from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization

SPACE, FIELDS = IndexSpace(x=5, y=3), FieldSpace(a="uint8", b="float32")
LAYOUTS = ("<F, x, y>", "<x, F, y>", "<x_in=4, F, x_out, y>", "<x_in=2, y, F, x_out>", "<y_in=2, x, F, y_out>", "<x, y, F>")
PADDED = "<x_in=4, F, x_out, y>"


def on(layout: str) -> Linearization:
    return Layout(layout).on(SPACE, FIELDS)


def drawn(*tapes: Tape, row: int = 16) -> ET.Element:
    return ET.fromstring(tapes_svg(tapes, "A tape <of> bytes & marks", row=row))


def said(svg: ET.Element) -> list[str]:
    return [each.text or "" for each in svg.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", [7, 16])
def test_each_byte_is_in_one_stretch(layout: str, row: int) -> None:
    linear = on(layout)
    for begin in range(0, linear.nbytes, row):
        found = list(stretches(linear, begin, begin + row))
        covered = [byte for each in found for byte in range(each.begin, each.end)]
        assert covered == list(range(begin, min(begin + row, linear.nbytes)))
        for each in found:
            for byte in range(each.begin, each.end):
                here = linear.locate(byte)
                whole = None if here is None else (here.index, here.field)
                assert whole == (None if each.found is None else (each.found.index, each.found.field))


def test_the_first_difference_is_that_of_a_comparison_byte_by_byte() -> None:
    def content(linear: Linearization) -> list[object]:
        return [linear.locate(byte) for byte in range(linear.nbytes)]

    for one in LAYOUTS:
        for other in LAYOUTS:
            a, b = content(on(one)), content(on(other))
            expected = next((at for at in range(max(len(a), len(b))) if a[at : at + 1] != b[at : at + 1]), None)
            assert first_difference(on(one), on(other)) == expected
            assert (expected is None) == on(one).same_as(on(other))


def test_marks_and_padding_are_drawn_and_told() -> None:
    svg = drawn(Tape(on(PADDED), "mine", (TapeMark(1, "here"), TapeMark(9, "and there", "good", 4))))
    texts = said(svg)
    assert {"here", "and there", "mine", "byte 0", "byte 16", "padding"} <= set(texts)
    (description,) = svg.iter("{http://www.w3.org/2000/svg}desc")
    assert description.text is not None
    assert "mine: from byte 0 on lie a 0,0; a 1,0; a 2,0; a 3,0; b 0,0" in description.text
    assert "here, at byte 1" in description.text and "Hatched bytes are padding" in description.text
    assert texts.count("0,0") == 2 and texts.count("4,2") == 2  # of a and of b


def test_rows_far_from_the_marks_are_left_out_and_this_is_said() -> None:
    linear = Layout("<F, x>").on(IndexSpace(x=400), FieldSpace(a="uint8", b="float32"))
    rows = [text for text in said(drawn(Tape(linear, "", (TapeMark(1003, "far"),)))) if re.fullmatch(r"byte [\d,]+", text)]
    assert rows == ["byte 0", "byte 16", "byte 976", "byte 992", "byte 1,008"]
    texts = said(drawn(Tape(linear, "", (TapeMark(1003, "far"),))))
    assert [text for text in texts if "left out" in text] == [
        "… bytes 32 to 975 are left out", "… bytes 1,024 to 1,999 are left out",
    ]  # fmt: skip


def test_a_shorter_memory_says_that_nothing_more_comes() -> None:
    texts = said(drawn(Tape(on(PADDED), "long"), Tape(on("<F, x, y>"), "short")))
    assert "nothing more" in texts
    assert texts.count("long") == texts.count("short") == -(-on(PADDED).nbytes // 16)


def test_words_over_neighbours_do_not_lie_on_each_other() -> None:
    marks = tuple(TapeMark(byte, f"a longer text, {byte}") for byte in (0, 1))
    svg = drawn(Tape(on(PADDED), "", marks))
    heights = [each.get("y") for each in svg.iter("{http://www.w3.org/2000/svg}text") if (each.text or "").startswith("a longer")]
    assert len(set(heights)) == 2
