"""The example transfers do what they say."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from run_cases import ROOT, isoviz, names_in

from isoviz.cli import main
from isoviz.units import parse_seconds

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))


@pytest.mark.full
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
@pytest.mark.few(2)
def test_every_example_can_be_planned(path: Path, tmp_path: Path) -> None:
    done = isoviz("plan", path, "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["hops"]


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "{}", "--explain"],
        ["simulate", "{}"],
        ["cost", "{}", "--path", "node0.dsk,node0.sys"],
        ["run", "{}", "--no-trial"],
        ["machine", "--list"],
        ["machine", "--preset", "laptop"],
        ["bench", "--help"],
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_command_leaves_no_file_that_was_not_asked_for(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = (ROOT / "examples/aos_to_soa_file.toml").read_text(encoding="utf-8")
    transfer = tmp_path / "transfer.toml"
    transfer.write_text(re.sub(r"(?m)^x = .*$", "x = 4096", small), encoding="utf-8")
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert main([part.format(transfer) for part in command]) == 0
    assert names_in(folder) == []


@pytest.mark.parametrize("name", ["own_device.py", "nhwc_to_gpu_nchw.py", "find_layout.py", "several_paths.py"])
@pytest.mark.few(1)
def test_an_example_leaves_no_file(name: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "examples" / name], cwd=tmp_path, capture_output=True, check=False, timeout=250)
    assert names_in(tmp_path) == []


def test_a_host_runtime_of_its_own(tmp_path: Path) -> None:
    """What a host runtime has to offer is enough: it runs, gets all buffers back, and checks its bytes itself."""
    code = (ROOT / "examples" / "host_runtime.py").read_text(encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "done, 100 %" in done.stdout
    assert "bytes of buffers" in done.stdout
    assert names_in(tmp_path) == []


def test_there_are_examples() -> None:
    assert {path.stem for path in EXAMPLES} >= {"aos_to_soa_file", "transpose_file", "fbm_to_remote_fbm"}


@pytest.mark.full
def test_gpus_without_a_link_are_relayed_over_several_paths() -> None:
    """The mesh is emulated, so slow that this computer keeps up: several paths are faster than host memory, and so measured."""
    command = [sys.executable, ROOT / "examples" / "gpu_mesh.py", "--size", "1MiB", "--slower", "20000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line for line in done.stdout.splitlines() if "predicted" in line]
    assert len(lines) == 3 and all("every byte verified" in line for line in lines), done.stdout
    times_host = [float(re.findall(r"([0-9.]+) × host memory", line)[0]) for line in lines]
    assert times_host[2] > 1.5 and times_host[1] > 1.5, done.stdout
    paths = [line for line in done.stdout.split("several paths")[1].splitlines() if "→" in line]
    assert len(paths) > 2 and all(re.search(r"fbm[0-9] → .* → node0.fbm5", path) for path in paths), done.stdout
    assert subprocess.run([*command[:2], "--source", "5"], capture_output=True, timeout=250).returncode == 2


def test_no_way_by_hand_beats_the_plan_for_a_cache(capsys: pytest.CaptureFixture[str]) -> None:
    """`examples/kv_cache.py`: ways that programs take by hand, beside the plan."""
    runpy.run_path(str(ROOT / "examples" / "kv_cache.py"), run_name="__main__")
    cases: list[list[float]] = []
    for line in capsys.readouterr().out.splitlines():
        if not line.startswith("  "):
            cases.append([])
        elif "not possible" not in line:
            cases[-1].append(parse_seconds("".join(line.split()[-2:])))
    assert len(cases) == 5 and all(len(found) > 3 for found in cases)
    for *by_hand, planned in cases:
        assert planned <= 1.001 * min(by_hand)
