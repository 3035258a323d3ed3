"""`isoviz.ranks` and `isoviz run --ranks` with GPUs: played, emulated or absent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import gpu_calls
import numpy as np
import pytest
from client_arrays import table, turned
from mpi_jobs import needs_mpi

import isoviz
from isoviz.cli import main
from isoviz.errors import RankError, TransferError
from isoviz.machines import preset

pytestmark = needs_mpi
FIELDS = isoviz.FieldSpace(a="float32", b="int64")


@pytest.fixture(scope="module")
def two() -> Iterator[isoviz.Ranks]:
    with isoviz.ranks(2) as ranks:
        yield ranks


def machine(**options: object) -> isoviz.Machine:
    return preset("ranks", **{"ranks": 2, "gpus": 1, "measure": "assumed", **options})


def plan_between(made: isoviz.Machine, source: str, destination: str, size: int = 64) -> isoviz.Plan:
    space = isoviz.IndexSpace(x=size, y=size)
    return isoviz.plan(isoviz.Transfer.whole(space, FIELDS, source, "<F, x, y>", destination, "<y, x, F>"), made)


@pytest.mark.parametrize("ends", [("node0.fbm0", "node1.fbm0"), ("node1.fbm0", "node0.sys"), ("node0.zcm", "node1.fbm0")])
@pytest.mark.few(1)
def test_arrays_of_the_client_go_to_gpus_and_come_back(two: isoviz.Ranks, ends: tuple[str, str]) -> None:
    two.call(gpu_calls.play_gpus)
    given, room = table(64), np.zeros(64 * 64 * 12, np.uint8)
    made = machine()
    found = plan_between(made, *ends)
    report = two.run(found, given, room, machine=made)
    assert report.verified and room.tobytes() == turned(given)
    assert two.run(found, machine=made).verified
    assert not any("emulated" in note for note in report.notes)
    two.call(gpu_calls.stop_playing)


def test_a_gpu_without_room_for_an_array_stops_no_other_rank(two: isoviz.Ranks) -> None:
    two.call(gpu_calls.play_gpus, 1000)
    made = machine()
    with pytest.raises(
        RankError, match=r"rank 0 has no room for its arrays: DeviceMemoryError: .*node0\.fbm0: no room for 48 KiB"
    ):
        two.run(plan_between(made, "node0.fbm0", "node1.sys"), table(64), np.zeros(64 * 64 * 12, np.uint8), machine=made)
    assert two.run(plan_between(made, "node0.sys", "node1.sys"), machine=made).verified
    two.call(gpu_calls.stop_playing)


def test_another_binding_of_the_same_machine_is_another_gpu(two: isoviz.Ranks) -> None:
    """Plans do not depend on the devices of a machine, and runs do."""
    made = machine()
    for device in (0, 1, 0):
        two.call(gpu_calls.play_gpus)
        memories = (replace(memory, device=device) if memory.name == "node1.fbm0" else memory for memory in made.memories)
        bound = replace(made, memories=tuple(memories))
        assert bound.digest == made.digest
        assert two.run(plan_between(bound, "node0.sys", "node1.fbm0"), machine=bound).verified
        assert two.call(gpu_calls.stop_playing)[1] == [device]


def test_emulated_gpus_are_labelled(two: isoviz.Ranks) -> None:
    made = machine(gpu_memory="emulated")
    given, room = table(64), np.zeros(64 * 64 * 12, np.uint8)
    report = two.run(plan_between(made, "node0.fbm0", "node1.fbm0"), given, room, machine=made)
    assert report.verified and room.tobytes() == turned(given)
    assert "emulated in host memory: node0.fbm0, node1.fbm0" in report.notes


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_without_a_gpu_says_so_and_the_ranks_stay(two: isoviz.Ranks, rank: int) -> None:
    made = machine()
    with pytest.raises(TransferError, match=rf"memory node{rank}\.fbm0: this computer has no such device .*; rank {rank}: CuPy "):
        two.run(plan_between(made, f"node{1 - rank}.sys", f"node{rank}.fbm0"), machine=made)
    with pytest.raises(TransferError, match=rf"rank {rank}: CuPy "):
        two.run(
            plan_between(made, f"node{rank}.fbm0", f"node{1 - rank}.sys"),
            table(64),
            np.zeros(64 * 64 * 12, np.uint8),
            machine=made,
        )
    assert two.run(plan_between(made, "node0.sys", "node1.sys"), machine=made).verified


def test_messages_of_gpu_memory_are_refused_by_the_wheels(two: isoviz.Ranks) -> None:
    two.call(gpu_calls.play_gpus)
    made = machine(gpu_memory="cuda-aware")
    straight = replace(made, channels=tuple(each for each in made.channels if each.kind == "TwoSided" and "fbm0" in each.name))
    with pytest.raises(TransferError, match="the MPI library of rank 0 takes no addresses of GPU memory"):
        two.run(plan_between(straight, "node0.fbm0", "node1.fbm0"), machine=straight)
    two.call(gpu_calls.stop_playing)


@pytest.mark.full
def test_the_command_runs_a_transfer_file_between_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """
space = { x = 60, y = 40 }
fields = { a = "float32", b = "float64" }
source = { memory = "node0.fbm0", layout = "<F, x, y>" }
destination = { memory = "node1.fbm0", layout = "<y, x, F>" }
machine = { preset = "ranks", gpus = 1, measure = "assumed"%s }
"""
    (tmp_path / "emulated.toml").write_text(text % ', gpu_memory = "emulated"', encoding="utf-8")
    (tmp_path / "real.toml").write_text(text % "", encoding="utf-8")
    assert main(["run", str(tmp_path / "emulated.toml"), "--ranks", "2"]) == 0
    said = capsys.readouterr().out
    assert "every byte verified" in said and "emulated in host memory: node0.fbm0, node1.fbm0" in said
    assert main(["run", str(tmp_path / "real.toml"), "--ranks", "2"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1, said
    assert "memory node0.fbm0: this computer has no such device (FBM)" in said and "; rank 0: CuPy " in said
