"""The picture for viewers without a kernel: what it says, when it is drawn again, and how large it may be."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest
from given.sessions import session_fixture

import isoviz
from isoviz.widgets.chosen.settings import settings_for
from isoviz.widgets.notebook import static_picture as module
from isoviz.widgets.notebook.static_picture import MOST_BYTES, StaticPicture
from isoviz.widgets.session import Session

START = settings_for(machine_options={"measure": "assumed"}, space={"x": 64, "y": 32}, fields={"a": "float32", "b": "float64"})


class Page:
    """What a front end shows: one output by its display id."""

    def __init__(self) -> None:
        self.outputs: dict[str, dict[str, str]] = {}
        self.updates = 0
        self.threads: set[str] = set()
        self.change = threading.Condition()

    def display(self, shown: Any, display_id: str) -> None:
        self.outputs[display_id] = shown._repr_mimebundle_()

    def publish(self, data: dict[str, str], transient: dict[str, str], update: bool) -> None:
        assert update
        with self.change:
            self.outputs[transient["display_id"]] = data
            self.updates += 1
            self.threads.add(threading.current_thread().name)
            self.change.notify_all()

    def wait(self, words: str) -> None:
        with self.change:
            assert self.change.wait_for(lambda: words in self.html, 60), self.html

    @property
    def html(self) -> str:
        (output,) = self.outputs.values()
        return output["text/html"]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    made = Page()
    monkeypatch.setattr("IPython.display.display", made.display)
    monkeypatch.setattr("IPython.display.publish_display_data", made.publish)
    monkeypatch.setattr(module, "is_in_kernel", lambda: True)
    monkeypatch.setattr(module, "SECONDS", 0.01)
    return made


session = session_fixture(START, "explorer")


def put(session: Session, field: str, value: str) -> None:
    session.send({"kind": "set", "field": field, "value": value})


def test_it_says_the_transfer_and_what_it_costs_and_draws_path_and_layouts(page: Page, session: Session) -> None:
    picture = StaticPicture(session, "0a")
    picture.show()
    assert "isoviz, as it began" in page.html
    assert page.html.startswith('<div data-isoviz-static="0a" class="isoviz-static">')
    plan = session.state.derived.plan
    assert plan is not None
    assert "node0.dsk &lt;F, x, y&gt; → node0.sys &lt;x, y, F&gt; on local" in page.html
    assert "x 64 × y 32; a float32, b float64" in page.html
    assert "24 KiB in " in page.html and "/s" in page.html
    assert "Figures of the machine: assumed" in page.html
    assert re.findall("<figcaption>(.*?)</figcaption>", page.html) == ["Path", "Source", "Destination"]
    assert page.html.count("<svg") == 3
    assert "<script" not in page.html
    assert "prefers-color-scheme:dark" in page.html, "dark pages are readable"
    assert "plan for local" in page.outputs["0a"]["text/plain"]
    picture.close()


def test_it_shows_the_last_state_and_says_so(page: Page, session: Session) -> None:
    picture = StaticPicture(session, "0a")
    picture.show()
    put(session, "source-layout", "<y, F, x>")
    page.wait("&lt;y, F, x&gt;")
    assert "as it was left" in page.html
    assert page.html.count("<svg") == 3
    put(session, "source-layout", "<x, F, y>")
    session.wait()
    picture.close()
    assert "node0.dsk &lt;x, F, y&gt;" in page.html, "once more at the end"
    assert "isoviz-session" not in page.threads, "it is not drawn in the thread of the session"
    updates = page.updates
    put(session, "source-layout", "<y, x, F>")
    session.wait()
    picture.close()
    assert page.updates == updates


def test_nothing_is_sent_where_nothing_changed(page: Page, session: Session) -> None:
    session.wait()
    picture = StaticPicture(session, "0a")
    picture.show()
    for _ in range(20):
        session.send({"kind": "hello"})
        session.wait()
    picture.close()
    assert page.updates == 0


def test_only_what_changed_is_drawn_again(page: Page, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    original = module._part_of

    def noted(name: str, *more: Any) -> str:
        drawn.append(name)
        return original(name, *more)

    monkeypatch.setattr(module, "_part_of", noted)
    picture = StaticPicture(session, "0a")
    picture.show()
    drawn.clear()
    put(session, "destination-layout", "<y, F, x>")
    session.wait()
    picture.close()
    assert "&lt;y, F, x&gt;" in page.html
    assert sorted(set(drawn)) == ["destination", "path"]


def test_a_mistake_is_told_beside_the_last_plan(page: Page, session: Session) -> None:
    picture = StaticPicture(session, "0a")
    picture.show()
    put(session, "source-layout", "<F, x, <script>")
    session.wait()
    picture.close()
    assert "source-layout: " in page.html
    assert "The plan is that of the last settings that had one." in page.html
    assert "<script" not in page.html


def test_drawings_that_are_too_large_are_left_out(page: Page, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"path": 250_000, "source": 200_000, "destination": 100_000}
    monkeypatch.setattr(module, "_part_of", lambda name, *_more: f"<svg>{'ä' * (sizes[name] // 2)}</svg>")
    picture = StaticPicture(session, "0a")
    picture.show()
    picture.close()
    assert re.findall("<figcaption>(.*?)</figcaption>", page.html) == ["Path", "Destination"]
    assert len(page.html.encode()) <= MOST_BYTES


def test_a_picture_that_cannot_be_drawn_keeps_the_last_one_and_is_logged(
    page: Page, session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session.wait()  # else what comes after the plan is drawn as well
    picture = StaticPicture(session, "0a")
    picture.show()
    before = page.html

    def broken(*_more: Any) -> str:
        raise ValueError("no")

    monkeypatch.setattr(StaticPicture, "_picture", broken)
    put(session, "source-layout", "<y, F, x>")
    session.wait()
    picture.close()
    assert page.html == before
    assert "static picture" in caplog.text and "ValueError: no" in caplog.text


def test_layouts_alone_need_no_plan(page: Page) -> None:
    session = Session(START)
    picture = StaticPicture(session, "0a")
    picture.show()
    picture.close()
    session.close()
    assert re.findall("<figcaption>(.*?)</figcaption>", page.html) == ["Source", "Destination"]
    assert "node0" not in page.html


def test_a_view_of_one_end_shows_its_layout_and_nothing_else(page: Page, session: Session) -> None:
    picture = StaticPicture(session, "0a", "destination")
    picture.show()
    put(session, "source-layout", "<hello>")
    put(session, "destination-layout", "<hello>")
    session.wait()
    picture.close()
    assert re.findall("<figcaption>(.*?)</figcaption>", page.html) == ["Layout"]
    assert re.findall("<li>(.*?)</li>", page.html)[:2] == ["x 64 × y 32; a float32, b float64", "⟨x, y, F⟩, 24 KiB"]
    assert len(re.findall("<li>", page.html)) == 3
    assert "node0" not in page.html


def test_a_run_is_told(page: Page, session: Session, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    picture = StaticPicture(session, "0a")
    picture.show()
    session.run()
    session.wait()
    picture.close()
    assert re.search(r"The last run: .*/s, verified bit for bit", page.html)


def test_a_terminal_prints_it_once(capsys: pytest.CaptureFixture[str]) -> None:
    explorer = isoviz.explore(np.zeros((8, 8)))
    explorer.close()
    printed = capsys.readouterr().out
    assert " object at " not in printed
    assert printed.count("node0.sys <F, x, y> → node0.sys <F, y, x> on local") == 1
    assert printed.count("plan for local: 512 B in") == 1
    editor = isoviz.LayoutEditor("<x, y, F>", space={"x": 8, "y": 6}, fields={"a": "float32"})
    editor.show()
    editor.close()
    assert capsys.readouterr().out.splitlines()[2:] == ["x 8 × y 6; a float32", "⟨x, y, F⟩, 192 B"]
