"""A document is said once; text, Markdown, JSON and HTML have all of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from html_cases import Outline, without_plots

from isoviz.document import Cell, Document, Facts, Listing, Mark, Plot, Prose, Quantity, Section, Table, aligned
from isoviz.figures.document_html import document_html
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
    lines = str(DOCUMENT).splitlines()
    head = lines[lines.index("A caption") + 1 :][:3]
    # Columns with a quantity are set right, in the header too; all others are set left.
    end, right = head[0].index("rate") + 4, head[0].index("share") + 5
    assert head[1][:end].endswith("3.18 GB/s") and head[2][:end].endswith("1 B/s") and head[2][:right].endswith("50 %")
    assert head[1].index("agrees") == head[2].index("plain") == right + 2
    assert f"{HOSTILE}: {HOSTILE}" in lines, "the remark, by the name of its row"
    assert lines[:2] == [f"Title {HOSTILE}", "=" * len(f"Title {HOSTILE}")]
    assert lines[4 + 1 : 4 + 3] == ["took  1.2 ms", "date  2026"] or "took  1.2 ms" in lines
    assert "  run it" in lines and f"    {HOSTILE}" in lines


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
