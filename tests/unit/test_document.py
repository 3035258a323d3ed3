"""A document is said once; text, Markdown, JSON and HTML have all of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from html_cases import Outline, without_plots

from isoviz.document import (
    WIDTH,
    Bar,
    Cell,
    Code,
    Document,
    Facts,
    Listing,
    Mark,
    Picture,
    Plot,
    Points,
    Prose,
    Quantity,
    Section,
    Table,
    Told,
    aligned,
)
from isoviz.figures.document_html import document_html, told_html
from isoviz.figures.page import document_page

HOSTILE = "<script>alert('x')</script> & \"y\" |*`"
ROWS: list[list[Cell]] = [
    ["one", Quantity(3.18e9, "rate"), "", Mark("agrees", "good")],
    [HOSTILE, Quantity(1.0, "rate"), Quantity(0.5, "share"), "plain"],
]
TABLE = Table(("name", "rate", "share", ""), ROWS, "A caption", remarks=["", HOSTILE], remark="why")


def drawn() -> Any:
    from bokeh.plotting import figure

    return figure()


DOCUMENT = Document(
    f"Title {HOSTILE}",
    (
        Prose("A first paragraph."),
        Facts((("took", Quantity(0.0012, "seconds")), ("date", "2026"))),
        Section("Numbers", (Plot("one", "One", drawn), TABLE, Section("Inside", (Listing(f"run it\n  {HOSTILE}"),)))),
        Section("Other numbers", (Table(("a",), [["1"]]),), {"others": [1, 2]}),
        Section("Words", (Prose("no numbers"),)),
    ),
)


def test_units_are_written_as_people_write_them() -> None:
    cells = [(3.18e9, "rate"), (0.0012, "seconds"), (1 << 25, "bytes"), (2.2, "times"), (-0.62, "change"), (0.36, "share")]
    assert [str(Quantity(*each)) for each in cells] == ["3.18 GB/s", "1.2 ms", "32 MiB", "2.20 ×", "−62 %", "36 %"]
    assert str(Quantity(4612, "count")) == "4,612"


def test_text_has_columns() -> None:
    assert str(DOCUMENT).splitlines()[:3] == [f"Title {HOSTILE}", "=" * len(f"Title {HOSTILE}"), "  A first paragraph."]
    lines = [line.removeprefix("  ") for line in str(DOCUMENT).splitlines()]
    head = lines[lines.index("A caption") + 1 :][:3]
    # Columns with a quantity are set right, in the header too; all others are set left.
    end, right = head[0].index("rate") + 4, head[0].index("share") + 5
    assert head[1][:end].endswith("3.18 GB/s") and head[2][:end].endswith("1 B/s") and head[2][:right].endswith("50 %")
    assert head[1].index("agrees") == head[2].index("plain") == right + 2
    assert f"{HOSTILE}: {HOSTILE}" in lines, "the remark, by the name of its row"
    assert "took  1.2 ms" in lines and "run it" in lines and f"  {HOSTILE}" in lines


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert aligned([("a", "b"), ("ccc", Quantity(5, "count"))], left=(0,)) == ["a    b", "ccc  5"]
    assert aligned([], ()) == []


def test_markdown_says_it_and_means_nothing_else() -> None:
    text = DOCUMENT.markdown()
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert rows[:3] == ["| name | rate | share |  |", "| --- | ---: | ---: | --- |", "| one | 3.18 GB/s |  | agrees |"]
    assert rows[3].startswith("| \\<script>alert('x')\\</script> & \"y\" \\|\\*\\` | 1 B/s | 50 % |")
    assert "## Numbers" in text and "### Inside" in text and "- took: 1.2 ms" in text
    assert "\n        <script>" not in text.replace("      <script>", ""), "a listing is indented as code"


def test_json_has_numbers() -> None:
    data = json.loads(json.dumps(DOCUMENT.to_json()))
    assert data == {
        "Numbers": [
            {"name": "one", "rate": 3.18e9, "share": "", "": "agrees"},
            {"name": HOSTILE, "rate": 1.0, "share": 0.5, "": "plain"},
        ],
        "others": [1, 2],
    }


def test_html_is_escaped_and_folds_the_numbers_of_a_plot() -> None:
    shown, plots = without_plots(document_page(DOCUMENT, kind="demo"))
    outline = Outline(shown)
    assert len(plots) == 1
    assert outline.tags.count("script") == 1, "BokehJS alone"
    assert " ".join(outline.words).count("alert('x')") == 5, "title twice, cell, remark, listing"
    for tag, count in (("h1", 1), ("h2", 3), ("h3", 1), ("details", 1), ("table", 2), ("section", 3), ("header", 1)):
        assert outline.tags.count(tag) == count, tag
    assert ("span", "class", "badge good") in outline.attributes
    assert outline.attributes.count(("td", "class", "n")) == 4, "rates and shares are set right"
    assert [(plot.name, table) for plot, table in DOCUMENT.plots()] == [("one", TABLE)]


def test_a_row_without_its_remark_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="zip"):
        str(Document("t", (Section("s", (Table(("a",), [["1"], ["2"]], remarks=["only one"]),)),)))
    assert document_html(Document("t", ())).startswith("<header><h1>t</h1>")


def test_columns_without_words_are_left_out() -> None:
    document = Document("Empty", (Section("One", (Table(("a", "b", "c"), [["1", "", "3"], ["4", "", "6"]]),)),))
    assert str(document).splitlines()[-3:] == ["  a  c", "  1  3", "  4  6"]
    assert "| a | c |" in document.markdown() and Outline(document_html(document)).tags.count("th") == 2
    assert document.to_json() == {"One": [{"a": "1", "b": "", "c": "3"}, {"a": "4", "b": "", "c": "6"}]}
    nameless = Table(("", ""), [["set-up", "1 s"]])
    assert str(Document("T", (nameless,))).splitlines() == ["T", "=", "  set-up  1 s"]


def test_a_column_has_lines_of_its_own_where_lines_are_too_long() -> None:
    def lines(words: str) -> list[str]:
        return str(Document("T", (Table(("a", "why", "n"), [["one", words, Quantity(2, "count")]], below=1),))).splitlines()[2:]

    assert lines("short") == ["  a    why    n", "  one  short  2"]
    assert lines("w" * WIDTH) == ["  a    n", "  why", "  one  2", f"  {'w' * WIDTH}"]


class Card(Told):
    """A value with a document in brief."""

    def __init__(self, words: str) -> None:
        self.words = words

    def document(self) -> Document:
        table = Table(("of", "share"), [[Code("<F, x>"), Bar(0.5)], ["all", Bar(1.0, "100 %")]], marked=[1])
        more = Section("More", (Points(["One thing.", "Another thing."]), Listing("a  b", "The program")))
        picture = Picture("linearization_svg", (self,))
        return Document("A card", (Facts([("time", "1 s")]), picture, table, more), line=f"card: {self.words} in 1 s")


def test_a_value_is_told_in_brief_and_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card("4 KiB")
    assert str(card).splitlines() == [
        "card: 4 KiB in 1 s",
        "  of      share",
        "  <F, x>  ██████████",
        "  all     100 %",
    ]
    assert repr(card) == "<Card: card: 4 KiB in 1 s>"
    long = repr(Card("x\n" * 300))
    assert len(long) == 200 and "\n" not in long and long.endswith("…>")
    monkeypatch.setattr("isoviz.figures.linearization_svg", lambda value, theme: f"<svg>{value.words}</svg>")
    shown = told_html(card, theme="dark")
    outline = Outline(shown)
    assert outline.values("data-isoviz") == ["card"] and "<svg>4 KiB</svg>" in shown
    assert outline.tags.count("li") == 2 and "<summary>The program</summary><pre>a  b</pre>" in shown
    assert (
        'class="slow"' in shown
        and 'class="bar full"' in shown
        and "width:50.0%" in shown
        and "<code>&lt;F, x&gt;</code>" in shown
    )
    assert "- Another thing." in card.document().markdown() and card.document().to_json()["A card"][1] == {
        "of": "all",
        "share": "100 %",
    }
