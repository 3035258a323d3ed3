"""A queue of runs of tests, some at the same time: all are shown in full, all count, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def lanes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import lanes

    return lanes


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.fixture
def run(lanes):
    """Run programs in lanes; gives how each ended, in the order in which that was told."""

    def run(programs: dict[str, str], most: int = 2, told: Callable[[str, int], object] = lambda name, status: None) -> list[Any]:
        ended: list[Any] = []

        def tell(name: str, status: int, seconds: float) -> None:
            assert seconds > 0
            ended.append((name, status))
            told(name, status)

        lanes.run({name: python(code) for name, code in programs.items()}, ROOT, dict(os.environ), tell, most)
        return ended

    return run


def test_each_is_shown_in_one_piece_and_in_order(run, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    code = "import sys\nfor n in range({}, {}): print(n, file=(sys.stderr, sys.stdout)[n % 2], flush=True)\nsys.exit({})"
    programs = {f"lane {n}": code.format(2000 * n, 2000 * (n + 1), n % 2) for n in range(5)}
    assert run(programs) == [(f"lane {n}", n % 2) for n in range(5)]
    assert capfdbinary.readouterr().out.split() == [str(n).encode() for n in range(10_000)]


@pytest.mark.parametrize("most", [1, 2, 3])
def test_so_many_run_at_a_time(run, tmp_path: Path, most: int) -> None:
    """Each ends only once as many have begun as may run beside it; none ever finds more than these under way."""
    code = """
from pathlib import Path
folder = Path({folder!r})
(folder / "begun {number}").touch()
while (begun := len(list(folder.glob("begun *")))) < min(6, {number} // {most} * {most} + {most}):
    pass
(folder / "seen {number}").write_text(str(begun - len(list(folder.glob("ended *")))))
(folder / "ended {number}").touch()
"""
    run({str(number): code.format(number=number, most=most, folder=str(tmp_path)) for number in range(6)}, most)
    seen = [int(path.read_text()) for path in tmp_path.glob("seen *")]
    assert len(seen) == 6 and max(seen) <= most


def test_all_end_where_one_cannot_be_told(run, tmp_path: Path) -> None:
    """What still runs is interrupted as Ctrl-C does it, and what has not begun never does."""
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    os.mkfifo(begun)
    waits = f"""
import signal
try:
    open({str(begun)!r}, "w").close()
    signal.pause()
except KeyboardInterrupt:
    open({str(ended)!r}, "w").close()
"""

    def fail(name: str, status: int) -> None:
        begun.read_text()  # once the second has begun
        raise OSError("the screen is gone")

    last = f"open({str(tmp_path / 'four')!r}, 'w')"
    with pytest.raises(OSError, match="the screen is gone"):
        run({"one": "", "two": waits, "three": "import signal\nsignal.pause()", "four": last}, told=fail)
    assert ended.exists()
    assert not (tmp_path / "four").exists()


def test_ctrl_c_ends_all(tmp_path: Path) -> None:
    """In a terminal it reaches all of them: those that run put their things away, and the queue stands still."""
    folder = tmp_path / "lanes"
    folder.mkdir()
    waits = f"""
import os, signal
try:
    open({str(folder)!r} + f"/begun {{os.getpid()}}", "w").close()
    signal.pause()
except KeyboardInterrupt:
    open({str(folder)!r} + f"/ended {{os.getpid()}}", "w").close()
"""
    program = f"""
import os, sys
sys.path.insert(0, {str(ROOT / ".ci")!r})
import lanes
command = [sys.executable, "-c", {waits!r}]
lanes.run(dict.fromkeys(("one", "two", "three"), command), {str(ROOT)!r}, dict(os.environ), print, 2)
"""
    process = subprocess.Popen(python(program), start_new_session=True, stderr=subprocess.PIPE, text=True)
    while len(list(folder.glob("begun *"))) < 2:
        assert process.poll() is None
        threading.Event().wait(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=250)
    assert "KeyboardInterrupt" in errors
    names = sorted(path.name for path in folder.iterdir())
    assert [name.split()[0] for name in names] == ["begun", "begun", "ended", "ended"]
    for pid in {int(name.split()[1]) for name in names}:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_outcomes_are_added_up(lanes, tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_one.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('n', range(4))\ndef test_right(n): pass\n"
        "def test_wrong(): assert False\n"
        "@pytest.mark.skip(reason='later')\ndef test_later(): pass\n"
        "@pytest.fixture\ndef broken(): raise OSError\n"
        "def test_error(broken): pass\n",
        encoding="utf-8",
    )
    counts = lanes.Counts(tmp_path)
    for name, selection in {"one": "right or wrong", "other": "later or error"}.items():
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", selection]
        subprocess.run(
            [*command, "--junit-xml", counts.file(name), "--rootdir", str(tmp_path), "-c", os.devnull, "tests"],
            cwd=tmp_path, capture_output=True, check=False, timeout=250,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )  # fmt: skip
    assert counts.words().startswith("4 passed, 2 failed, 1 skipped in ")
