"""Pictures of the messages of a hop, and of lists on pages."""

from __future__ import annotations

import re

import numpy as np
from html_cases import check_saved_page, check_self_contained

from isoviz import FieldSpace, IndexSpace, Instance, Transfer, plan
from isoviz.figures import handshake_svg, html
from isoviz.machines import Machine, preset
from isoviz.planner import Plan
from isoviz.planner.explanation.handshake import handshake
from isoviz.widgets.pages.plan_page import plan_page

BYTES = FieldSpace(v="u1")


def direct(run: int, runs: int) -> tuple[Plan, Machine]:
    here, there = (Instance(f"node{n}.fbm0", IndexSpace(x=2 * run, y=runs), BYTES, "<F, x, y>") for n in (0, 1))  # type: ignore[arg-type]
    machine = preset("theta-gpu")
    return plan(Transfer(here, there, shape=(run, runs)), machine, "direct"), machine


def test_messages_have_a_picture_true_to_time_and_a_table() -> None:
    found, machine = direct(1024, 64)
    shown = handshake(found, machine=machine)
    picture = check_self_contained(handshake_svg(shown))
    for name in ("RTS", "CTS", "FIN", "node0.fbm0", "node1.fbm0"):
        assert name in picture.text
    bars = re.findall(r'<rect x="[\d.]+" y="([\d.]+)" width="10" height="([\d.]+)"', handshake_svg(shown))
    work = [each for each in shown.messages if each.sender == each.receiver]
    assert len(bars) == len(work) > 0
    scale = {round(float(height) / (each.end - each.start), -5) for (_, height), each in zip(bars, work, strict=True)}
    assert len(scale) == 1, "a bar is as long as its time"
    outline = check_self_contained(html(shown))
    assert outline.tags.count("tr") == 1 + len(shown.messages) and "parses its layout" in outline.text
    assert str(shown).count("\n") == 1 + len(shown.messages) and "RTS" in str(shown)


def test_very_many_messages_are_a_band() -> None:
    found, machine = direct(1024, 4096)
    picture = check_self_contained(handshake_svg(handshake(found, machine=machine)))
    assert re.search(r"1\d\d × write", picture.text) and picture.tags.count("line") < 12


def test_pages_show_what_lists_name_in_order() -> None:
    order = np.random.default_rng(3).permutation(32)[:12]
    here, there = (
        Instance("node0.sys", IndexSpace(x=16, y=size), FieldSpace(v="f8"), "<F, x, y>")  # type: ignore[arg-type]
        for size in (32, 12)
    )
    machine = preset("laptop")
    move = Transfer.listed(here, there, entries={"y": order})
    saved = check_saved_page(plan_page(plan(move, machine), machine))
    ends = saved.content["page"]["ends"]
    source, destination = ends["source"]["listed"], ends["destination"]["listed"]
    stretches = [*zip(source["starts"], source["lengths"], strict=True)]
    assert [at // 128 for start, length in stretches for at in range(start, start + length, 128)] == order.tolist()
    before = [sum(source["lengths"][:place]) // 128 for place in range(len(stretches))]
    assert source["owners"] == [place * 1000 // 12 for place in before]
    assert destination == {"starts": [0], "lengths": [12 * 128], "owners": [0]}
    assert "12 by list" in ends["source"]["moved"] and ends["destination"]["moved"] == ""
    plain = check_saved_page(plan_page(plan(Transfer(there, there, (16, 6), (0, 6)), machine), machine))
    assert plain.content["page"]["ends"]["source"]["listed"] is None
