"""Notebook 1: cheap wins that fail, right answers of several kinds, pictures of the learner's own answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from course_cases import FULL, solutions
from ipywidgets import Widget

from isoviz import course
from isoviz.course.checking import Judged, judged
from isoviz.course.classroom import drawn, learner_seed
from isoviz.course.exercise import NotAnAnswer
from isoviz.course.kinds import linear_of
from isoviz.course.lessons import exercises_of
from isoviz.course.notebook_1.layout_pictures import (
    block_changed,
    block_dissolved,
    difference,
    digits_swapped,
    fields_moved,
    lying_at,
    order_reversed,
    padding_begin,
    swapped,
)
from isoviz.course.notebook_1.located_byte import PADDING
from isoviz.layouts import FieldSpace, IndexSpace, Layout

EXERCISES = exercises_of(1)
SEEDS = [learner_seed("notebook 1", str(number)) for number in range(30 if FULL else 3)]


@pytest.fixture(autouse=True)
def no_widgets_left() -> Iterator[None]:
    """Panes are closed."""
    yield
    Widget.close_all()


def said(name: str, answer: object, seed: str = SEEDS[0]) -> Judged:
    return judged(EXERCISES[name], answer, given(name, seed))


def given(name: str, seed: str = SEEDS[0]) -> dict[str, Any]:
    return drawn(EXERCISES[name], seed)


def picture(found: Judged) -> str:
    assert found.verdict.picture is not None
    return str(found.verdict.picture()._repr_html_())


# ---- 1.1


def test_after_a_prediction_both_bytes_are_marked() -> None:
    right = EXERCISES["1.1"].right(given("1.1"))
    wrong = picture(said("1.1", right + 3))
    assert f"your byte {right + 3}" in wrong and f"asked: byte {right}" in wrong
    assert f"asked: byte {right}" in picture(said("1.1", right)) and "your byte" not in picture(said("1.1", right))


def test_a_byte_behind_the_array_is_told_as_that() -> None:
    linear = linear_of(given("1.1"))
    found = said("1.1", linear.nbytes)
    assert f"lies behind the array, which has {linear.nbytes} bytes" in found.verdict.says
    assert "your byte" not in picture(found)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_forgotten_start_is_named_whatever_the_strides(seed: str) -> None:
    numbers = given("1.1", seed)
    size_a, size_b = linear_of(numbers).fields.sizes
    (x, y), count = numbers["index"].values(), numbers["sizes"]["y"]
    strides = {size_b: count * (size_a + size_b), size_a: count * (size_a + size_b)}
    for fast, slow in (*strides.items(), (size_b, count * size_b)):
        assert said("1.1", y * fast + x * slow, seed).model == "field-start-forgotten"
    assert said("1.1", count * size_a + y * size_b + x * count * size_b, seed).model == "other-field-passed-over"


def test_bytes_may_be_written_out() -> None:
    right = EXERCISES["1.1"].right(given("1.1"))
    assert all(said("1.1", f"{right}{unit}").verdict.right for unit in (" bytes", " byte", "bytes", " Bytes", " B"))
    with pytest.raises(NotAnAnswer, match="is no unit"):
        said("1.1", f"{right} megabytes")


# ---- 1.2


@pytest.mark.parametrize("seed", SEEDS)
def test_a_layout_read_backwards_is_named_in_each_form(seed: str) -> None:
    numbers = given("1.2", seed)
    backwards = ", ".join(numbers["layout"].strip("<>").split(", ")[::-1])
    for layout in (backwards, order_reversed(numbers["layout"]), block_changed(backwards, numbers["split"], 4)):
        assert said("1.2", layout, seed).model == "order-reversed"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_layout_that_pads_is_not_the_tape(seed: str) -> None:
    numbers = given("1.2", seed)
    sizes = (block for block in range(2, 8) if numbers["sizes"][numbers["split"]] % block and block < numbers["blocks"] * 2)
    for block in sizes:
        padded = block_changed(numbers["layout"], numbers["split"], block)
        found = said("1.2", padded, seed)
        assert not found.verdict.right and found.model == "other-block"


def test_the_picture_has_the_asked_tape_above_the_own_one() -> None:
    found = said("1.2", "<F, x, y>")
    assert found.model == "not-split"
    drawing = picture(found)
    assert drawing.index(">asked<") < drawing.index(">yours<") and drawing.count("the first difference<") == 2


def test_the_pane_judges_its_own_array_alone(folder: Path) -> None:
    import isoviz

    numbers = course.lessons.learners_folder().given(EXERCISES["1.2"])
    assert course.given("1.2") == {name: numbers[name] for name in ("sizes", "fields")}
    other = isoviz.LayoutEditor("<F, x, y>", space={"x": 2, "y": 4}, fields=numbers["fields"])
    assert course.check("1.2", other).kind == "unread"
    pane = course.pane("1.2")
    pane.pane.value = numbers["layout"]
    assert course.check("1.2", pane).right


# ---- 1.3


def test_about_two_of_five_learners_get_padding() -> None:
    count = 150 if FULL else 40
    padding = sum(
        EXERCISES["1.3"].right(given("1.3", learner_seed("padding", str(number)))) == PADDING for number in range(count)
    )
    assert 0.25 * count < padding < 0.55 * count


@pytest.mark.parametrize("number", range(40 if FULL else 8))
def test_a_byte_beside_the_right_one_is_explained_by_that(number: int) -> None:
    seed = learner_seed("beside", str(number))
    numbers = given("1.3", seed)
    linear, tried = linear_of(numbers), 0
    for byte in (numbers["byte"] - 1, numbers["byte"] + 1):
        found = linear.locate(byte) if 0 <= byte < linear.nbytes else None
        if found is not None:
            tried += 1
            assert said("1.3", (*found.index, found.field, found.byte), seed).model == "one-byte-beside"
    assert tried or EXERCISES["1.3"].right(numbers) == PADDING


def test_the_number_of_parts_is_told() -> None:
    with pytest.raises(NotAnAnswer, match=r"expected 4 parts \(x, y, field, byte\), got 3"):
        said("1.3", (0, 0, "a"))
    with pytest.raises(NotAnAnswer, match=r"expected 2 parts \(pair, layout\), got 3"):
        said("1.4", ("A", "B", "<F, x, y>"))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_part_that_cannot_be_is_told(seed: str) -> None:
    sizes = given("1.3", seed)["sizes"]
    with pytest.raises(NotAnAnswer, match=rf"no entry with x = {sizes['x']}: x is 0 to {sizes['x'] - 1}"):
        said("1.3", (sizes["x"], 0, "a", 0), seed)
    with pytest.raises(NotAnAnswer, match=r"there is no field 'c'; expected a or b"):
        said("1.3", (0, 0, "c", 0), seed)
    assert "has no byte 8: its bytes are 0 to" in said("1.3", (0, 0, "a", 8), seed).verdict.says


def test_the_picture_has_the_byte_and_the_own_answer() -> None:
    numbers = given("1.3")
    linear = linear_of(numbers)
    answer = next(index for index, field in linear.order() if field == "b" and linear.offset(index, "b") != numbers["byte"])
    found = said("1.3", (*answer, "b", 0))
    at = linear.offset(answer, "b")
    assert not found.verdict.right and f"is byte {at} of the memory" in found.verdict.says
    assert f"byte {numbers['byte']}: " in picture(found) and f"your answer: byte {at}" in picture(found)


# ---- 1.4


@pytest.mark.parametrize("seed", SEEDS)
def test_neither_half_of_an_answer_is_enough(seed: str) -> None:
    right = EXERCISES["1.4"].right(given("1.4", seed))
    layouts = ["<F, x, y>", "<F, y, x>", "<x, F, y>", "<y, F, x>", "<x, y, F>", "<y, x, F>"]
    assert sum(said("1.4", (right["pair"], layout), seed).verdict.right for layout in layouts) == 1
    pairs = [(one, other) for one in "ABCDE" for other in "ABCDE" if one < other]
    assert sum(said("1.4", (pair, right["layout"].layout), seed).verdict.right for pair in pairs) == 1


def test_the_code_of_each_array_makes_it() -> None:
    import numpy as np

    for seed in SEEDS:
        numbers = given("1.4", seed)
        entry = np.dtype([("a", "float32"), ("b", "float32")])
        listing = str(EXERCISES["1.4"].words(numbers)["listing"]).splitlines()
        assert len(listing) == 5
        for line in listing:
            name, code, element = line[0], line[4:].split(" — ")[0], line.split("element is ")[1]
            array = eval(code, {"np": np, "entry": entry})
            first = eval(element, {name: array, "x": 1, "y": 2, "f": 0, "entry": entry})
            assert first == 0 and array.nbytes == linear_of({**numbers, "layout": "<F, x, y>"}).nbytes


# ---- 1.5


@pytest.mark.parametrize("seed", SEEDS)
def test_every_block_with_the_least_padding_is_right(seed: str) -> None:
    numbers = given("1.5", seed)
    nbytes, size = EXERCISES["1.5"].right(numbers)["bytes"], numbers["sizes"]["x"]
    left = {block: -size % block for block in range(3, 9)}
    for block, each in left.items():
        assert said("1.5", (nbytes, block), seed).verdict.right == (each == min(left.values()))
    for block in (1, 2, size):
        assert "not to choose from" in said("1.5", (nbytes, block), seed).verdict.says


@pytest.mark.parametrize("seed", SEEDS)
def test_bytes_are_told_in_whole_entries(seed: str) -> None:
    numbers = given("1.5", seed)
    right, ny = EXERCISES["1.5"].right(numbers), numbers["sizes"]["y"]
    assert said("1.5", (right["bytes"] // ny, right["block"]), seed).model == "one-row"
    assert f"for each of the {ny} y" in said("1.5", (right["bytes"] + 1, right["block"]), seed).verdict.says
    assert "no whole number of entries" in said("1.5", (right["bytes"] + 1, right["block"]), seed).verdict.says


# ---- 1.6


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mistake_in_one_array_is_named_whatever_the_other_is(seed: str) -> None:
    numbers = given("1.6", seed)
    right = {end: str(each.layout) for end, each in EXERCISES["1.6"].right(numbers).items()}
    first_axis = f"<F, {', '.join(numbers['axes'])}>"
    assert said("1.6", (first_axis, right["after"]), seed).model == "first-axis-fastest"
    swapped_digits = digits_swapped(right["after"], numbers["split"])
    for axes in itertools.permutations("hwc"):
        before, after = (linear_of(numbers, layout) for layout in (f"<F, {', '.join(axes)}>", swapped_digits))
        if list(axes) != numbers["axes"] and not before.same_as(after):  # those have a belief of their own
            assert said("1.6", (str(before.layout), swapped_digits), seed).model == "digits-swapped"


@pytest.mark.parametrize("seed", SEEDS)
def test_numpy_itself_agrees_on_both_ends(seed: str) -> None:
    import numpy as np

    numbers = given("1.6", seed)
    space: dict[str, Any] = {"np": np}
    exec(str(EXERCISES["1.6"].words(numbers)["listing"]), space)
    before, after = space["before"], space["after"]
    marks = np.arange(before.size, dtype="float32").reshape(before.shape)
    moved = marks.reshape([after.shape[numbers["moved"].index(axis)] for axis in numbers["reshaped"]])
    moved = moved.transpose([numbers["reshaped"].index(axis) for axis in numbers["moved"]]).copy()
    right = EXERCISES["1.6"].right(numbers)
    for end, memory in (("before", marks.ravel()), ("after", moved.ravel())):
        for byte in range(0, right[end].nbytes, 4):
            at = dict(zip(right[end].space, right[end].locate(byte).index, strict=True))
            assert memory[byte // 4] == marks[tuple(at[axis] for axis in numbers["axes"])]


# ---- 1.P


@pytest.mark.parametrize("seed", SEEDS)
def test_the_usual_layouts_do_not_do(seed: str) -> None:
    for layout in ("<F, x, y>", "<F, y, x>", "<x, y, F>", "<y, x, F>", "<x, F, y>", "<y, F, x>", "<F, x_in=8, x_out, y>"):
        assert not said("1.P", layout, seed).verdict.right, layout


@pytest.mark.parametrize("seed", SEEDS)
def test_layouts_of_several_kinds_do_at_another_cost(seed: str) -> None:
    costs = set()
    for layout in {*map(str, solutions(1)["1.P"](given("1.P", seed)))}:
        found = said("1.P", layout, seed)
        assert found.verdict.right, (layout, found.verdict.says)
        costs.add(found.verdict.cost)
    assert len(costs) >= 1 and all("cache lines of 64 B on average; 3 is the least" in cost for cost in costs)


def test_the_inner_digit_last_is_named_before_the_place_of_the_fields() -> None:
    for layout in ("<F, x_out, y, x_in=8>", "<x_out, F, y, x_in=8>"):
        assert said("1.P", layout).model == "inner-digit-last"
    assert said("1.P", "<F, x_in=8, x_out, y>").model == "fields-innermost"


def test_what_breaks_a_rule_is_marked_in_the_own_memory() -> None:
    torn = picture(said("1.P", "<x_in=4, F, x_out, y>"))
    assert all(f">{lane}</text>" in torn for lane in range(8))
    far = picture(said("1.P", "<x, y, F>"))
    assert "its first byte" in far and "its last byte" in far
    assert ">padding</text>" in picture(said("1.P", "<x_in=48, F, x_out, y>"))


# ---- models and words


def test_layouts_of_wrong_models() -> None:
    layout = "<x_in=4, F, y, x_out>"
    assert order_reversed(layout) == "<x_in=4, y, F, x_out>"
    assert fields_moved(layout, 0) == "<F, x_in=4, y, x_out>"
    assert fields_moved(layout, -1) == "<x_in=4, y, x_out, F>"
    assert swapped(layout, "x", "y") == "<y_in=4, F, x, y_out>"
    assert digits_swapped(layout, "x") == "<x_out, F, y, x_in=4>"
    assert block_changed(layout, "x", 3) == "<x_in=3, F, y, x_out>"
    assert block_dissolved(layout, "x") == "<x, F, y>"


def test_words_of_what_lies_where() -> None:
    linear = Layout("<x_in=2, F, x_out>").on(IndexSpace(x=3), FieldSpace(a="uint8", b="uint16"))
    assert [lying_at(linear, byte) for byte in (1, 2, 3, 7, 12)] == [
        "a of the entry x = 1", "b of the entry x = 0", "byte 1 of b of the entry x = 0", "padding", "nothing more",
    ]  # fmt: skip
    assert padding_begin(linear) == 7
    one = Layout("<F, x>").on(IndexSpace(x=3), FieldSpace(value="uint16"))
    assert lying_at(one, 3) == "byte 1 of the entry x = 1" and padding_begin(one) == one.nbytes == 6
    assert difference(linear, linear) is None
    found = difference(linear, Layout("<F, x>").on(linear.space, linear.fields))
    assert found == (1, "a of the entry x = 1", "b of the entry x = 0")
