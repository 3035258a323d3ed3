"""`isoviz.redistribute` as users call it: in a program of ranks, from a notebook's process, and the example."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rank_calls
from mpi_jobs import environment, needs_mpi, run, run_json

import isoviz
from isoviz.errors import ArrayError, DistributionError, InputError, RankError

PROGRAM = str(Path(__file__).with_name("redistribute_program.py"))
EXAMPLE = Path(__file__).parents[2] / "examples" / "distributed_transpose.py"
SPACE, FIELDS = isoviz.IndexSpace(x=48, y=40), isoviz.FieldSpace(value="float64")


def ends(ranks: int) -> tuple[isoviz.DistributedInstance, isoviz.DistributedInstance]:
    rows = isoviz.DistributedInstance(SPACE, FIELDS, isoviz.Distribution({"y": ranks}), isoviz.Layout("<F, x, y>"))
    dealt = isoviz.Distribution({"x": ranks}, {"x": 4})
    return rows, isoviz.DistributedInstance(SPACE, FIELDS, dealt, isoviz.Layout("<F, y, x>"), "reg")


@needs_mpi
@pytest.mark.parametrize("ranks", [2, pytest.param(4, marks=pytest.mark.full)])
def test_in_a_program_of_ranks(ranks: int) -> None:
    found = run_json(ranks, PROGRAM, "well")
    assert found["ranks"] == ranks
    assert found["program"]
    assert found["verified"] is None
    assert re.search(r" [0-9.]+×$", found["text"], re.MULTILINE), found["text"]
    note = rf"note: predicted without a measurement \(.*assumed.*\); isoviz machine --measure --ranks {ranks} measures$"
    assert re.search(note, " ".join(found["text"].split())), found["text"]
    assert f"needs {ranks + 1} ranks, and there are {ranks} " in found["words"] and f"mpiexec -n {ranks + 1}" in found["words"]


def test_without_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """MPI is not started for nothing."""
    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "MV2_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DistributionError, match=r"start this program with mpiexec -n 2, or give ranks=isoviz.ranks\(2\)"):
        isoviz.redistribute(*ends(2))


@needs_mpi
def test_a_program_that_fails_on_one_rank_ends() -> None:
    done = run(2, PROGRAM, "error")
    assert done.returncode != 0
    assert "this rank has an error of its own" in done.stderr


@needs_mpi
def test_from_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process itself is no rank. Arrays go to their ranks, parts stay there and are fetched one by one."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    rows, columns = ends(2)
    numbers = np.arange(48 * 40, dtype=np.float64).reshape(40, 48)
    parts = [numbers[rows.coordinates(rank)["y"]] for rank in range(2)]
    with isoviz.ranks(2) as ranks:
        generated = isoviz.redistribute(rows, columns, ranks=ranks)
        assert generated.report.verified
        assert "the source holds generated data" in str(generated)
        done = isoviz.redistribute(rows, columns, ranks=ranks, array=parts)
        for rank in range(2):
            found = done.part(rank)
            assert found is not None
            assert np.array_equal(found, numbers.T[columns.coordinates(rank)["x"]])
        # From registered memory: what comes from here is placed there first.
        back = isoviz.redistribute(columns, rows, ranks=ranks, array={rank: done.part(rank) for rank in range(2)})
        assert all(np.array_equal(back.part(rank), parts[rank]) for rank in range(2))
        with pytest.raises(ArrayError, match="has 80 bytes"):
            isoviz.redistribute(rows, columns, ranks=ranks, array=[np.zeros(10)] * 2)
        with pytest.raises(DistributionError, match="there is no rank 2"):
            isoviz.redistribute(rows, columns, ranks=ranks, array=[None] * 3)
        with pytest.raises(InputError, match="arrays by rank"):
            isoviz.redistribute(rows, columns, ranks=ranks, array=3)
        with pytest.raises(InputError, match="leave out into and cancel"):
            isoviz.redistribute(rows, columns, ranks=ranks, into=parts[0])
        with pytest.raises(DistributionError, match="needs 3 ranks, and there are 2 "):
            isoviz.redistribute(*ends(3), ranks=ranks)
        assert isoviz.redistribute(rows, columns, ranks=ranks, verify=False).report.verified is None
        # A rank without room for what comes from here keeps no other rank waiting.
        ranks.call(rank_calls.without_windows, ranks=[1])
        with pytest.raises(RankError, match="rank 1 has no room for its part: MemoryError: no room"):
            isoviz.redistribute(columns, rows, ranks=ranks, array={rank: done.part(rank) for rank in range(2)})
        assert isoviz.redistribute(rows, columns, ranks=ranks, array=parts).report.verified


@needs_mpi
@pytest.mark.parametrize("way", ["python", pytest.param("mpiexec", marks=pytest.mark.full)])
@pytest.mark.few(1)
def test_the_example(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs as it stands, in both ways, here with a matrix whose rows are spread unevenly."""
    monkeypatch.setenv("ISOVIZ_KERNELS", "numpy")  # It would wait until they are compiled.
    page = tmp_path / "page.html"
    arguments = [str(EXAMPLE), "--size", "203", "-o", str(page)]
    if way == "mpiexec":
        done = run(3, *arguments)
    else:
        done = subprocess.run(
            [sys.executable, *arguments, "--ranks", "2"],
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    for words in ("every byte verified", "Alltoallw", "NumPy pack", "all ways give the same bytes", "serves"):
        assert words in done.stdout
    assert "rank 0 → rank 1" in page.read_text(encoding="utf-8")
