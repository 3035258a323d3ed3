"""Files that nobody means well with: each is refused with a typed error or read, and takes neither time nor memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
MOST_GROWTH = 200 << 20
"""Bytes that a process may grow by, whatever it reads."""
SLOWER = 4
"""How many times longer than an honest file of the same size, which takes a quarter of a second, a hostile one may take."""


def test_hostile_files(full: bool, tmp_path: Path, report: Callable[[str, object], None]) -> None:
    count = 2000 if full else 90
    done = subprocess.run(
        [sys.executable, HERE / "hostile_files.py", "0", str(count), tmp_path],
        env={**os.environ, "ISOVIZ_LEDGER": "off", "PYTHONPATH": str(HERE.parents[1])},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    first, *lines = done.stdout.splitlines()
    honest, found = float(first), [json.loads(line) for line in lines]
    assert len(found) == count, f"file {len(found)} ended the process: {done.stderr[-2000:]}"
    wrong = [each for each in found if each["error"].startswith(("untyped", "a message"))]
    assert wrong == []
    slowest, growth = max(found, key=lambda each: each["seconds"]), sum(each["grown"] for each in found)
    report("hostile files: seconds of the slowest, and of an honest one", f"{slowest['seconds']:.3f}, {honest:.3f}")
    assert slowest["seconds"] < SLOWER * honest, slowest
    assert growth < MOST_GROWTH, max(found, key=lambda each: each["grown"])
    refused = sum(each["error"] != "" for each in found)
    assert count // 2 < refused < count, "all of them, or hardly any, were refused"
