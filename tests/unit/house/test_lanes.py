"""Two runs of tests at the same time: both are shown in full, both count, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
WAITS = "import signal\nopen({!r}, 'w').close()\nsignal.pause()"


@pytest.fixture
def lanes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    import lanes

    return lanes


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


@pytest.mark.parametrize("status", [0, 3])
def test_all_that_was_printed_is_shown_in_order(lanes, capfdbinary: pytest.CaptureFixture[bytes], status: int) -> None:
    code = f"import sys\nfor n in range(5000): print(n, file=(sys.stderr, sys.stdout)[n % 2], flush=True)\nsys.exit({status})"
    with lanes.beside(python(code), ROOT, dict(os.environ)) as started:
        assert started.wait() == status
    assert capfdbinary.readouterr().out.split() == [str(n).encode() for n in range(5000)]


def test_nothing_is_shown_before_it_is_waited_for(lanes, capfd: pytest.CaptureFixture[str]) -> None:
    with lanes.beside(python("print('beside')"), ROOT, dict(os.environ)) as started:
        started.process.wait(timeout=60)
        assert capfd.readouterr().out == ""
        started.wait()
    assert capfd.readouterr().out == "beside\n"


def test_it_ends_with_what_it_runs_beside(lanes, tmp_path: Path) -> None:
    ended = []
    begun = tmp_path / "begun"
    os.mkfifo(begun)

    def fail() -> None:
        with lanes.beside(python(WAITS.format(str(begun))), ROOT, dict(os.environ)) as started:
            ended.append(started.process)
            begun.read_text()  # once it has begun
            raise OSError("the other failed")

    with pytest.raises(OSError, match="the other failed"):
        fail()
    assert [process.returncode for process in ended] == [-signal.SIGINT]  # Python ends itself by it, as pytest does not


def test_it_steps_back_for_the_others(lanes, capfd: pytest.CaptureFixture[str]) -> None:
    with lanes.beside(python("import os\nprint(os.nice(0))"), ROOT, dict(os.environ)) as started:
        started.wait()
    assert int(capfd.readouterr().out) == min(os.nice(0) + lanes.BEHIND, 19)


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
            cwd=tmp_path, capture_output=True, check=False, timeout=120,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        )  # fmt: skip
    assert counts.words().startswith("4 passed, 2 failed, 1 skipped in ")
