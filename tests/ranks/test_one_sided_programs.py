"""The programs of one-sided calls in `examples`, and the page of the guide: they run as they stand. Their checks can fail."""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hosts import Hosts, why_not
from mpi_jobs import ROOT, needs_mpi, run

from isoviz.errors import InputError

MG = str(ROOT / "examples" / "nas_mg.py")
SUMMA = str(ROOT / "examples" / "summa.py")
PAGE = (ROOT / "docs/guide/one-sided.md").read_text(encoding="utf-8")


def module(path: str) -> ModuleType:
    """An example as a module."""
    name = Path(path).stem
    made = importlib.util.spec_from_file_location(name, path)
    assert made is not None and made.loader is not None
    found = importlib.util.module_from_spec(made)
    sys.modules[name] = found  # its data classes look for their module
    made.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def mg() -> ModuleType:
    return module(MG)


# ---- NAS MG


@needs_mpi
@pytest.mark.parametrize(
    ("ranks", "arguments"),
    [
        (2, ["--ranks-along", "2,1,1"]),  # faces of single elements
        pytest.param(2, [], marks=pytest.mark.full),
        pytest.param(1, [], marks=pytest.mark.full),
        pytest.param(4, [], marks=pytest.mark.full),
        pytest.param(4, ["--ranks-along", "2,2,1", "--class", "B", "--size", "16"], marks=pytest.mark.full),
        pytest.param(8, ["--class", "W", "--size", "4"], marks=pytest.mark.full),
        pytest.param(2, ["--class", "W", "--way", "put"], marks=pytest.mark.full),
    ],
)
def test_multigrid_in_all_ways(ranks: int, arguments: list[str]) -> None:
    done = run(ranks, "-P", MG, "--repeat", "1", *arguments)
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    ways = ["put"] if "--way" in arguments else ["put", "buffered", "mpi"]
    assert [line.split()[0] for line in done.stdout.splitlines() if "× the time of put" in line] == ways
    assert "all ways give the bits of a run on one rank" in done.stdout
    assert ("no norm is published" in done.stdout) == ("--size" in arguments)
    assert ("THEY DIFFER" not in done.stdout) and "norm of the residual" in done.stdout


@needs_mpi
@pytest.mark.parametrize("way", ["put", pytest.param("buffered", marks=pytest.mark.full)])
def test_a_face_that_is_not_put_is_found(way: str) -> None:
    """The flag comes, and the ghost cells are those of the exchange before."""
    name = {"put": "Puts", "buffered": "Buffered"}[way]
    lines = (
        f"import sys; sys.path.insert(0, {str(Path(MG).parent)!r}); import nas_mg",
        f"nas_mg.{name}.swap = lambda self, faces: self.signal(faces)",
        "sys.exit(nas_mg.main())",
    )
    done = run(2, "-c", "\n".join(lines), "--repeat", "1", "--way", "mpi", way)
    assert done.returncode == 1, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    assert f"NOT THE BITS OF ONE RANK: {way}\n" in done.stdout


@needs_mpi
@pytest.mark.full
@pytest.mark.parametrize(
    ("program", "arguments", "words"),
    [
        (MG, ["--way", "put", "buffered"], "all ways give the bits of a run on one rank"),
        (SUMMA, ["--size", "200"], "exact in all ways"),
    ],
)
def test_programs_between_hosts(program: str, arguments: list[str], words: str, tmp_path: Path) -> None:
    """A rank on each of two hosts. Everything goes through messages, and flags come after faces."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with Hosts(2, tmp_path, "500mbit") as hosts:
        out = hosts.run(1, "-P", program, "--repeat", "1", *arguments, seconds=240)
    assert words in out and "THEY DIFFER" not in out and "WRONG" not in out


def test_the_published_norm(mg: ModuleType) -> None:
    """On one rank, without MPI. Another smoother gives another norm."""
    norms = {}
    for smoother in (mg.FIRST_SMOOTHER, mg.SECOND_SMOOTHER):
        problem = mg.CLASSES["S"]._replace(smoother=smoother)
        blocks = mg.Blocks((1, 1, 1))
        solver = mg.Solver(mg.Way(blocks), problem, mg.right_side(problem.size, blocks.block(problem.size)))
        solver.solve()
        norms[smoother] = math.sqrt(solver.squares() / problem.size**3)
    assert math.isclose(norms[mg.FIRST_SMOOTHER], 0.5307707005734e-04, rel_tol=1e-11)
    assert not math.isclose(norms[mg.SECOND_SMOOTHER], 0.5307707005734e-04, rel_tol=1e-3)


def test_the_stencil_sums_27_points(mg: ModuleType) -> None:
    inner = np.random.default_rng(1).random((12, 6, 8))
    weights = (3.0, 5.0, 7.0, 11.0)
    expected = np.zeros_like(inner)
    for shift in itertools.product((-1, 0, 1), repeat=3):
        expected += weights[sum(map(abs, shift))] * np.roll(inner, shift, (0, 1, 2))
    for step in (1, 2):
        found = np.full([each // step for each in inner.shape], np.nan)
        for planes, value in mg.stencil(np.pad(inner, 1, "wrap"), weights, step):
            found[planes] = value
        assert np.allclose(found, expected[step - 1 :: step, step - 1 :: step, step - 1 :: step], rtol=1e-13)


def test_the_charges_follow_the_generator(mg: ModuleType) -> None:
    size, number, numbers = 8, mg.SEED, []
    for _ in range(size**3):
        number = number * mg.FACTOR % mg.MODULUS
        numbers.append(number)
    order = np.argsort(np.array(numbers))
    whole = mg.right_side(size, (slice(0, size),) * 3).reshape(-1)
    assert set(np.flatnonzero(whole == 1)) == set(order[-10:]) and set(np.flatnonzero(whole == -1)) == set(order[:10])
    assert np.count_nonzero(whole) == 20
    for rank in range(4):
        block = mg.Blocks((2, 2, 1), rank).block(size)
        assert np.array_equal(mg.right_side(size, block), whole.reshape(size, size, size)[block])


@pytest.mark.parametrize(
    ("ranks", "size", "asked", "words"),
    [
        (2, 48, None, "--size 48: expected a power of two from 4 on"),
        (3, 32, None, "3 ranks: expected 1, 2, 4 or 8"),
        (2, 32, "2,1", "--ranks-along 2,1: expected three numbers, each 1 or 2"),
        (2, 32, "1,1,4", "--ranks-along 1,1,4: expected three numbers, each 1 or 2"),
        (2, 32, "2,2,1", "--ranks-along 2,2,1: expected 2 ranks in all, got 4"),
    ],
)
def test_wrong_divisions(mg: ModuleType, ranks: int, size: int, asked: str | None, words: str) -> None:
    with pytest.raises(InputError) as caught:
        mg.divided(ranks, size, asked)
    assert str(caught.value).startswith(words)


@needs_mpi
def test_wrong_arguments_are_said_once() -> None:
    done = run(2, "-P", MG, "--size", "5")
    assert done.returncode == 2
    assert done.stderr.count("nas_mg.py: --size 5: expected a power of two") == 1


# ---- SUMMA


@needs_mpi
@pytest.mark.parametrize(
    ("ranks", "arguments"),
    [
        (2, ["--size", "300"]),
        pytest.param(1, ["--size", "200", "--second", "128"], marks=pytest.mark.full),
        pytest.param(3, ["--size", "401", "--second", "700", "--chunk", "130"], marks=pytest.mark.full),  # uneven blocks
        pytest.param(4, [], marks=pytest.mark.full),
        pytest.param(4, ["--size", "7", "--second", "5", "--way", "overlap"], marks=pytest.mark.full),
    ],
)
def test_products_in_all_ways(ranks: int, arguments: list[str]) -> None:
    done = run(ranks, "-P", SUMMA, "--repeat", "1", *arguments)
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    ways = ["overlap"] if "--way" in arguments else ["overlap", "get", "mpi"]
    assert [line.split()[0] for line in done.stdout.splitlines() if "× the time of overlap" in line] == 2 * ways
    assert done.stdout.count("exact in all ways") == 2
    assert f"overlap needs a free core: {ranks} of " in done.stdout


@needs_mpi
@pytest.mark.full
def test_a_chunk_that_is_not_got_is_found() -> None:
    lines = (
        f"import sys; sys.path.insert(0, {str(Path(SUMMA).parent)!r}); import summa",
        "begin = summa.Product._begin",
        "wrong = lambda self, chunk, turn, *, wait: begin(self, self.chunks[0], turn, wait=wait)",
        "summa.Product._begin = wrong",
        "sys.exit(summa.main())",
    )
    done = run(2, "-c", "\n".join(lines), "--repeat", "1", "--size", "300", "--way", "get")
    assert done.returncode == 1, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    assert done.stdout.count(": WRONG\n") == 2


def test_wrong_arguments_of_a_product() -> None:
    summa = module(SUMMA)
    right = {"size": 300, "second": 512, "chunk": 128, "repeat": 1}
    summa.check(argparse.Namespace(**right), 4)
    for name, wrong, least in (("size", 3, 4), ("second", 0, 4), ("chunk", 127, 128), ("repeat", 0, 1)):
        with pytest.raises(InputError, match=f"--{name} {wrong}: expected at least {least}: "):
            summa.check(argparse.Namespace(**right | {name: wrong}), 4)


# ---- the page of the guide


@needs_mpi
@pytest.mark.parametrize("ranks", [2, pytest.param(1, marks=pytest.mark.full), pytest.param(4, marks=pytest.mark.full)])
def test_the_program_of_the_page(ranks: int, tmp_path: Path) -> None:
    """All blocks are one program, which compares what it finds."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    program = tmp_path / "page.py"
    program.write_text("\n".join([*blocks, "print('the end of rank', heap.rank)"]), encoding="utf-8")
    done = run(ranks, "-P", str(program))
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    assert len(blocks) >= 7 and done.stdout.count("the end of rank") == ranks
    assert done.stdout.count("1020:1030 reaches beyond its 1024 elements") == ranks


def test_the_plans_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """A busy processor delays packing and not the helper, as the words say."""
    cells = re.findall(r"```\{code-cell\}\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, object] = {}
    for cell in cells:
        exec(cell, names)
    said = capsys.readouterr().out
    found = re.findall(r"busy (\S+): packed +(\S+) ms, assisted +(\S+) ms: (.*)", said)
    assert [busy for busy, *_ in found] == 3 * ["0.0", "0.6"]
    chosen = []
    for (_, packed, assisted, kinds), (_, later, same, busy_kinds) in zip(found[::2], found[1::2], strict=True):
        assert float(assisted) == float(same) < float(later) and float(packed) < float(later)
        chosen.append((kinds, busy_kinds))
    assert chosen == [*2 * [("Memcpy → RemoteMemcpy → Memcpy", "Assisted")], ("Assisted", "Assisted")]
    assert "acknowledgement" in said and "runs, 3 requests" in said
