"""What the course shows: legible on light and dark pages, told by more than colour, and inert whatever was typed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from isoviz.course import lessons
from isoviz.course.checking import _MARKS, Shown
from isoviz.figures.charts.theme import TOKENS, contrast

MARKUP = "<img src=x onerror=alert(1)> `<b>` </div>"


@pytest.mark.parametrize("kind", _MARKS)
def test_a_verdict_is_legible_in_both_themes(kind: str) -> None:
    _, ink, behind = _MARKS[kind]
    assert contrast(TOKENS[ink].light, TOKENS[behind].light) >= 4.5
    assert contrast(TOKENS[ink].dark, TOKENS[behind].dark) >= 4.5
    page = Shown(kind, "1.1", "Said.")._repr_html_()
    for token in (ink, behind):
        assert f"var(--iv-{token},{TOKENS[token].light})" in page
        for theme in (TOKENS[token].light, TOKENS[token].dark):
            assert f"--iv-{token}:{theme}" in page


def test_verdicts_differ_by_their_signs() -> None:
    signs = [sign for sign, *_ in _MARKS.values()]
    assert len(set(signs)) == len(signs)


def test_what_was_typed_is_text() -> None:
    page = Shown("wrong", MARKUP, MARKUP, MARKUP)._repr_html_()
    tags = set(re.findall(r"<(\w+)", page))
    assert tags == {"style", "div", "p", "strong", "code"} and "onerror" in page
    assert page.count("</div>") == 1


def test_each_kind_of_answer_is_told_in_words(folder: Path) -> None:
    said = {shown.kind: str(shown) for shown in (lessons.check("1.1"), lessons.check("1.1", "x"), lessons.check("1.1", 10**6))}
    assert "Not answered" in said["open"] and "not counted" in said["unread"] and "Not yet" in said["wrong"]


def test_a_statement_says_what_is_given_asked_and_in_which_unit(folder: Path) -> None:
    said = str(lessons.statement("1.1"))
    assert all(word in said for word in ("Given:", "Asked:", "Unit:"))
