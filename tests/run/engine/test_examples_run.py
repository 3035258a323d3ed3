"""The example transfers do what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from run_cases import ROOT, isoviz, names_in

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


def test_a_quarter_gibyte_of_structs_from_disk_to_arrays_in_memory(tmp_path: Path) -> None:
    done = isoviz("run", ROOT / "examples" / "aos_to_soa_file.toml", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert data["verified"] is True
    assert data["bytes"] >= 256 << 20
    assert data["seconds"] > 0
    assert data["measured"]["seconds"] > 0
    assert data["hops"][0]["source"] == "node0.dsk"
    assert data["hops"][-1]["destination_layout"] == "<x, F>"
    for hop in data["hops"]:
        assert hop["throughput"] > 0
        assert hop["measured_throughput"] > 0
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_can_be_planned(path: Path, tmp_path: Path) -> None:
    done = isoviz("plan", path, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hops"]


def test_a_host_runtime_of_its_own(tmp_path: Path) -> None:
    """What a host runtime has to offer is enough: it runs, gets all buffers back, and checks its bytes itself."""
    code = (ROOT / "examples" / "host_runtime.py").read_text(encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "done, 100 %" in done.stdout
    assert "bytes of buffers" in done.stdout


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} >= {"aos_to_soa_file", "transpose_file", "fbm_to_remote_fbm"}
