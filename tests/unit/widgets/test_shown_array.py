"""Arrays of the user in the explorer and in the linearization view: sizes, fields, layout and values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoviz
from isoviz import Layout
from isoviz.errors import FileError, InputError, LayoutError
from isoviz.widgets.chosen.shown_array import MOST_VALUES, ShownArray, is_array, shown_array


class Exported:
    """An array that only DLPack hands over."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def value_at(shown: ShownArray, index: dict[str, int], field: str) -> str:
    assert shown.values is not None
    at = tuple(index[dim] for dim in shown.values["dims"])
    place = int(np.ravel_multi_index(at, tuple(shown.values["sizes"])))
    return shown.values["texts"][shown.values["fields"].index(field)][place]


ROWS = np.arange(24, dtype="<i4").reshape(4, 6)
PAIRS = np.zeros((2, 3), [("re", "f4"), ("n", "i2")])
PAIRS["re"], PAIRS["n"] = np.arange(6).reshape(2, 3) / 3, np.arange(6).reshape(2, 3)


@pytest.mark.parametrize(
    "array", [ROWS, np.asfortranarray(ROWS), ROWS.T, PAIRS, np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2)]
)
def test_every_entry_has_its_place_and_its_value(array: np.ndarray) -> None:
    shown = shown_array(array)
    dims = ("x", "y", "z")[: array.ndim][::-1]
    data = array.tobytes(order="A") if array.flags.forc else np.ascontiguousarray(array.transpose(1, 0, 2)).tobytes()
    for at in np.ndindex(*array.shape):
        index = dict(zip(dims, at, strict=True))
        for name in array.dtype.names or ("value",):
            element = array[at] if array.dtype.names is None else array[at][name]
            offset = shown.linear.offset(index, name)
            assert data[offset : offset + element.nbytes] == element.tobytes()
            assert float(value_at(shown, index, name)) == pytest.approx(float(element), rel=1e-3)


def test_dlpack_files_and_large_arrays(tmp_path: Path) -> None:
    assert shown_array(Exported(ROWS)) == shown_array(ROWS)
    for order in "CF":
        np.save(tmp_path / f"{order}.npy", np.asarray(ROWS, order=order))
        assert shown_array(tmp_path / f"{order}.npy") == replace(shown_array(np.asarray(ROWS, order=order)), is_file=True)
        assert shown_array(str(tmp_path / f"{order}.npy")) == shown_array(tmp_path / f"{order}.npy")
    for rows, has_texts in ((1, True), (2, False)):
        values = shown_array(np.zeros((rows, MOST_VALUES))).values
        assert values is not None and bool(values["texts"]) is has_texts


def test_what_is_an_array() -> None:
    assert all(map(is_array, (ROWS, Exported(ROWS), Path("a.npy"), "a.npy")))
    assert not any(map(is_array, ("<F, x>", Layout("<F, x>"), None, 3)))


def test_structs_with_gaps_nested_fields_and_buffers() -> None:
    array = np.zeros(3, np.dtype([("a", "u1"), ("p", [("x", "f4"), ("y", "2u2")])], align=True))
    array["a"], array["p"]["x"], array["p"]["y"] = (1, 2, 3), (0.5, 1.5, 2.5), [[1, 2], [3, 4], [5, 6]]
    shown = shown_array(array)
    assert shown.values is not None
    texts = dict(zip(shown.values["fields"], shown.values["texts"], strict=True))
    assert texts["a"] == ["1", "2", "3"] and texts["p.x"] == ["0.5", "1.5", "2.5"]
    assert texts["p.y"] == ["[1 2]", "[3 4]", "[5 6]"] and texts["(gap at 1)"] == ["", "", ""]
    assert shown.linear.nbytes == array.nbytes
    made = isoviz.explore(array, restore=False)
    plan = made.session.wait().derived.plan
    made.close()
    assert plan is not None and plan.transfer.field_names == ("a", "p.x", "p.y"), "gaps do not move"
    assert shown_array(bytearray(b"abc")) == shown_array(np.frombuffer(b"abc", "u1"))
    assert is_array(memoryview(array["a"]))
    with pytest.raises(LayoutError, match="has a mask"):
        shown_array(np.ma.array(ROWS, mask=ROWS > 3))


@pytest.fixture
def explorer() -> Iterator[Any]:
    made = isoviz.explore(np.asfortranarray(ROWS), restore=False)
    yield made
    made.close()


def test_the_explorer_begins_with_an_array(explorer: Any) -> None:
    settings = explorer.session.settings
    assert {row.name: row.value for row in settings.dimensions} == {"x": "6", "y": "4"}
    assert (settings.source.layout, settings.destination.layout) == ("<F, y, x>", "<F, x, y>")
    assert settings.source.memory == "node0.sys", "it is in memory"
    assert explorer.array_values == shown_array(np.asfortranarray(ROWS)).values
    assert explorer.session.wait().derived.plan is not None


def test_an_array_begins_where_it_is_or_where_one_says(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", ROWS)
    ends: list[tuple[Any, dict[str, Any], str]] = [
        (tmp_path / "rows.npy", {}, "node0.dsk"),
        (ROWS, {"source": ("node0.dsk", "<F, x, y>")}, "node0.dsk"),
        (ROWS, {"machine": "two-node"}, "node0.sys"),
    ]
    for array, given, memory in ends:
        made = isoviz.explore(array, restore=False, **given)
        assert made.session.settings.source.memory == memory
        made.close()


def test_a_view_of_an_array() -> None:
    view = isoviz.LinearizationView(PAIRS)
    try:
        assert view.linearization is not None and view.linearization.same_as(shown_array(PAIRS).linear)
        assert view.array_values["texts"] == [["0", "0.3333", "0.6667", "1", "1.333", "1.667"], ["0", "1", "2", "3", "4", "5"]]
    finally:
        view.close()


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="space and fields of its own"):
        isoviz.explore(ROWS, space={"x": 6})
    with pytest.raises(LayoutError, match="has no elements"):
        shown_array(np.zeros((0, 3)))
    with pytest.raises(FileError):
        shown_array(tmp_path / "none.npy")
    (tmp_path / "bad.npy").write_bytes(b"no array")
    with pytest.raises(FileError, match=r"not a \.npy file"):
        shown_array(str(tmp_path / "bad.npy"))
