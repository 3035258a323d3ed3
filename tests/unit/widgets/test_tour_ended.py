"""Whether the tour begins by itself: once for each user, in one explorer at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.explorer import Explorer

START = settings_for(machine_options={"measure": "assumed"}, space={"x": 64, "y": 32})


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "state"


@pytest.fixture
def explorers() -> Iterator[list[Explorer]]:
    made = [Explorer(START) for _ in range(2)]
    yield made
    for explorer in made:
        explorer.close()


def test_one_explorer_offers_it_until_the_browser_says_that_it_was_ended(explorers: list[Explorer]) -> None:
    first, second = explorers
    assert not first.tour, "it is not shown yet"
    first.show()
    second.show()
    assert (first.tour, second.tour) == (True, False)
    first.set_state({"tour": False})  # as the browser does
    for explorer in explorers:
        explorer.show()
        assert not explorer.tour


def test_it_goes_on_with_the_next_explorer_where_nobody_ended_it(explorers: list[Explorer]) -> None:
    first, second = explorers
    first.show()
    first.close()
    second.show()
    assert second.tour


def test_a_pane_alone_has_none() -> None:
    explorer = Explorer(START, pane="plan")
    explorer.show()
    assert not explorer.tour
    explorer.close()


def test_where_nothing_can_be_kept_it_does_not_come_again_and_again(explorers: list[Explorer], state: Path) -> None:
    state.mkdir(mode=0o700)
    (state / "isoviz").write_text("no folder")
    (state.parent / "home").mkdir()
    (state.parent / "home" / ".local").write_text("no folder")
    explorers[0].show()
    assert not explorers[0].tour
