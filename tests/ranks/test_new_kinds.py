"""What CONTRIBUTING says of kinds of channels and memories, done to the letter: two new files each, and no other file."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from mpi_jobs import ROOT, environment, needs_mpi, run_json

from isoviz.figures.charts.theme import colour

SCRIPT = str(Path(__file__).with_name("new_kinds.py"))


def added(place: Path, section: str) -> None:
    """Write the files of a section of CONTRIBUTING to a place."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (body,) = re.findall(rf"^### {section}\n(.*?)^### ", text, re.DOTALL | re.MULTILINE)
    files = re.findall(r"^ *```python\n( *# (isoviz/\S+)\n.*?)^ *```$", body, re.DOTALL | re.MULTILINE)
    assert len(files) == 2
    for block, name in files:
        assert not (ROOT / name).exists(), "it is a new file"
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(textwrap.dedent(block), encoding="utf-8")


@needs_mpi
def test_a_kind_of_channel_between_ranks(tmp_path: Path) -> None:
    added(tmp_path, "A kind of channel")
    found = run_json(2, SCRIPT, "channel", str(tmp_path), seconds=200)
    assert found == {
        "planned": ["NumpyWindow"],
        "run": [True, True],
        "listed": "NumpyWindow",
        "measured": ["measured 2026"],
        "samples": found["samples"],
        "drawn": [f"NumPy copy into a peer (4 channels), up to 10 GB/s {colour('dim2')}"],
        "refused": "",
    }
    assert found["samples"] >= 5


def test_a_kind_of_memory(tmp_path: Path) -> None:
    added(tmp_path, "A kind of memory")
    done = subprocess.run(
        [sys.executable, SCRIPT, "memory", str(tmp_path)],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "listed": True,
        "run": [True, True, True],
        "drawn": True,
        "explorer": [{}, True],
    }
