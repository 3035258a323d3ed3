"""The Chromium of the browser tests: what is here comes before what would have to be fetched."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def chromium(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The finder, with nothing on this computer and a cache of its own; a Chromium draws if its file says so."""
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "browser"))
    import chromium

    monkeypatch.delenv("ISOVIZ_CHROMIUM", raising=False)
    monkeypatch.setattr(chromium, "_CACHE", tmp_path / "cache")
    monkeypatch.setattr(chromium, "_UNPACKED", tmp_path / "cache" / "chromium@1")
    monkeypatch.setattr(chromium, "draws", lambda path: Path(path).read_text() == "draws")
    monkeypatch.setattr(chromium.sys, "platform", "linux")
    monkeypatch.setattr(chromium.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(chromium, "_playwright_hosts", lambda: pytest.fail("asked for a network"))
    monkeypatch.setattr(chromium, "_install_with_playwright", lambda: pytest.fail("tried to install"))
    for place in ("_of_the_system", "_of_playwright"):
        monkeypatch.setattr(chromium, place, lambda: iter(()))
    return chromium


def browser(path: Path, says: str = "draws") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(says)
    return str(path)


@pytest.mark.parametrize("place", ["_of_the_system", "_of_playwright", "an earlier run"])
def test_one_that_is_here_is_taken_without_a_network(chromium: Any, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    here = browser(chromium._UNPACKED / "chromium")
    if place != "an earlier run":
        here = browser(chromium._CACHE / "elsewhere")
        monkeypatch.setattr(chromium, place, lambda: iter((here,)))
    assert chromium.find() == here


@pytest.mark.parametrize("answers", [False, True])
def test_playwright_installs_only_where_its_hosts_answer(chromium: Any, monkeypatch: pytest.MonkeyPatch, answers: bool) -> None:
    """Without a network it would try each of them many times. npm may have another way out."""
    installed = browser(chromium._CACHE / "playwright")

    def install() -> bool:
        assert answers, "nobody answers"
        monkeypatch.setattr(chromium, "_of_playwright", lambda: iter((installed,)))
        return True

    monkeypatch.setattr(chromium, "_playwright_hosts", lambda: ["far.invalid"])
    monkeypatch.setattr(chromium, "_install_with_playwright", install)
    monkeypatch.setattr(chromium, "_unpack_into", lambda folder: browser(folder / "chromium"))
    if answers:
        monkeypatch.setattr(chromium, "_answers", lambda hosts: hosts == ["far.invalid"])
    else:
        monkeypatch.setattr(chromium.urllib.request, "getproxies", dict)
    assert chromium.find() == (installed if answers else str(chromium._UNPACKED / "chromium"))


def test_one_that_does_not_draw_is_passed_over(chromium: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    browser(chromium._UNPACKED / "chromium", "lacks libraries")
    whole = browser(chromium._UNPACKED / "chromium-with-libraries")
    assert chromium.find() == whole


def test_what_could_not_be_unpacked_is_not_there(chromium: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(folder: Path) -> None:
        browser(folder / "chromium")
        raise OSError("the disk is full")

    monkeypatch.setattr(chromium, "_playwright_hosts", list)
    monkeypatch.setattr(chromium, "_unpack_into", broken)
    with pytest.raises(chromium.NoChromiumError):
        chromium.find()
    assert list(chromium._CACHE.iterdir()) == []


def test_checkouts_that_unpack_at_the_same_time_have_a_whole_one(chromium: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """None of them shows its own before both have unpacked."""
    both = threading.Barrier(2, timeout=250)

    def unpack_into(folder: Path) -> None:
        browser(folder / "chromium")
        both.wait()

    monkeypatch.setattr(chromium, "_playwright_hosts", list)
    monkeypatch.setattr(chromium, "_unpack_into", unpack_into)
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(chromium.find) for _ in range(2)]
    assert [each.result() for each in found] == [str(chromium._UNPACKED / "chromium")] * 2
    assert [path.name for path in chromium._CACHE.iterdir()] == ["chromium@1"]
