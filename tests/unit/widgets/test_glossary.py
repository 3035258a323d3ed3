"""The glossary: every term that the explorer shows is explained, shortly, and the browser has the same words."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from isoviz.planner import PLANNERS
from isoviz.widgets.glossary import GLOSSARY, LONGEST

ROOT = Path(__file__).parents[3]


def generator() -> Any:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "widgets" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("term", GLOSSARY)
def test_explanations_are_short_plain_sentences(term: str) -> None:
    text = GLOSSARY[term]
    assert len(text) <= LONGEST
    assert text == " ".join(text.split())
    assert text.endswith(".")
    assert text[0].isupper() or text[0].isdigit()


def test_no_explanation_stands_twice() -> None:
    assert len(set(GLOSSARY.values())) == len(GLOSSARY)


def test_every_planner_is_explained() -> None:
    assert set(PLANNERS) <= set(GLOSSARY)


def test_the_words_of_the_design_are_explained() -> None:
    wanted = "F, run, hop, slot, chunk, shuffle, PREFIX, SUFFIX, layout, linearization, buffer, stop, padding, stride, offset"
    assert set(wanted.split(", ")) <= set(GLOSSARY)


def test_the_browser_has_the_same_words() -> None:
    made = generator().glossary_file()
    assert (ROOT / "widgets" / "src" / "model" / "glossary.ts").read_text(encoding="utf-8") == made
