"""Errors travel between processes, and quote any value on one line."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from isoviz import errors
from isoviz.errors import (
    LONGEST,
    Cancelled,
    FileError,
    IsovizError,
    NotationError,
    RunError,
    TextError,
    excerpt,
    line,
    printable,
    show,
)
from isoviz.layouts import Layout
from isoviz.machines import Memory


def test_errors_survive_pickling() -> None:
    with pytest.raises(NotationError) as notation:
        Layout("<F x>")
    with pytest.raises(IsovizError) as field:
        Memory("a", "tape")  # type: ignore[arg-type]
    for error in (notation.value, field.value, RunError("broke", hop=1, channel="a->b", chunk=2), Cancelled("stopped")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert vars(again) == vars(error)


def test_quoted_values_are_short() -> None:
    nested: list[object] = []
    for _ in range(100_000):
        nested = [nested]
    for value in (10**5000, -(10**5000), "x" * 10_000, "a\nb", nested, {"a": nested}, float("nan"), None, object()):
        assert len(show(value)) <= 70
        assert "\n" not in show(value)


HOSTILE = "a\x1b[31m\n\r\x00\x7f\x85\u202e\u2066\u200b\u2028\udcff\ufeff b"


def test_what_a_terminal_would_obey_is_escaped() -> None:
    assert printable(HOSTILE) == r"a\x1b[31m\n\r\x00\x7f\x85\u202e\u2066\u200b\u2028\udcff\ufeff b"
    for text in ("⟨F, x⟩ → ≤ größe 数", "a\u00a0b\u202fc", ""):
        assert printable(text) == text
    for error in (FileError(HOSTILE), RunError(HOSTILE, channel=HOSTILE), TextError("size", HOSTILE, 3, HOSTILE, HOSTILE)):
        assert str(error).isprintable()
        assert not isinstance(error, TextError) or error.pointer.replace("\n", "").isprintable()


def test_messages_are_short() -> None:
    """They begin and end as they were: who speaks, and what about."""
    for text in ("x" * 300_000, "\x1b" * 300_000, HOSTILE * 30_000):
        said = str(FileError(f"file {text}: cannot be read"))
        assert said.startswith("file ") and said.endswith(": cannot be read")
        assert len(said) <= LONGEST and said.isprintable() and "…" in said
    assert line("short") == "short" and line("x" * LONGEST) == "x" * LONGEST


@pytest.mark.parametrize("length", [1, 60, 61, 100, 101, 5000, 300_000])
def test_the_caret_stays_below_its_character(length: int) -> None:
    """However long the text is, wherever the place is in it, and whatever has to be escaped before."""
    for position in sorted({0, 1, length // 3, length // 2, length - 2, length - 1, length} & set(range(length + 1))):
        for filler in ("x", "\x1b", "\u202e"):
            text = (filler * position + "?" + filler * length)[: max(length, position + 1)]
            error = NotationError(text, position, f"found {text!r}", text)
            shown, caret = error.pointer.split("\n")
            assert shown[caret.index("^")] == "?" and caret.strip() == "^"
            assert len(shown) <= 102 and len(str(error)) <= LONGEST
            assert str(error).isprintable() and shown.isprintable()
            assert f"character {position + 1}" in str(error)
    assert excerpt("数数x", 2, 50) == ("数数x", 4), "terminals give these two columns"


def test_packages_are_added_to_a_checkout_or_from_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert errors.installation("mpi") == "pip install --editable '.[mpi]' in the folder of isoviz"
    monkeypatch.setattr(errors, "__file__", str(tmp_path / "site-packages/isoviz/errors.py"))
    assert errors.installation("mpi") == "pip install 'isoviz-….whl[mpi]' with the path of the wheel of isoviz"
