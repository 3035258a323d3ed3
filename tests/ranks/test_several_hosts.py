"""Ranks on two hosts with links of their own: who shares memory, every byte, the rate of the link, and a link that breaks."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hosts import Hosts, why_not
from mpi_jobs import environment, is_open_mpi, kill, needs_mpi
from waiting import until

HERE = Path(__file__).parent
PROGRAM, RUNS, SCATTERED = (str(HERE / name) for name in ("hosts_program.py", "rank_runs.py", "scattered_runs.py"))
pytestmark = needs_mpi
BETWEEN = """
space = { x = 300, y = 200 }
fields = { a = "float32", b = "float64" }
source = { memory = "node0.sys", layout = "<F, x, y>" }
destination = { memory = "node3.sys", layout = "<y, x, F>" }
machine = { preset = "ranks" }
"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two hosts, joined by a link that is slower than a busy computer."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with Hosts(2, tmp_path_factory.mktemp("hosts"), "500mbit") as hosts:
        yield hosts


def start(hosts: Hosts, *args: str, ranks: int = 2) -> subprocess.Popen[str]:
    """Start some ranks on each host."""
    command = hosts.mpiexec(ranks, *args)
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment(), stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def run_json(hosts: Hosts, *args: str, ranks: int = 2, seconds: float = 120) -> Any:
    """The JSON that a job has printed. Nothing is left of the job."""
    job = start(hosts, *args, ranks=ranks)
    try:
        out, err = job.communicate(timeout=seconds)
    except BaseException:
        kill(job)
        job.communicate()
        raise
    assert job.returncode == 0, f"{out[-1500:]}\n{err[-3000:]}"
    assert until(lambda: not hosts.left()), hosts.left()
    return json.loads(out)


@pytest.mark.full
def test_only_ranks_of_one_host_map_each_others_memory(two: Hosts, tmp_path: Path) -> None:
    found = run_json(two, PROGRAM, "maps", str(tmp_path))
    first, second = two.names
    assert found == {"hosts": [first, first, second, second], "mapped": [[1], [0], [3], [2]]}


@pytest.mark.full
def test_random_plans_between_hosts(two: Hosts, full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    found = run_json(two, RUNS, "hosts", "100" if full else "5", str(tmp_path), seconds=260)
    assert found["across"] > 0
    report("plans on two hosts, every byte verified", found["done"])
    report("plans on two hosts that cross ranks", found["across"])


@pytest.mark.full
def test_random_lists_between_hosts(two: Hosts, full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    """Lists, boxes and bundles, run, submitted and prepared: as MPI packs and unpacks them."""
    found = run_json(two, SCATTERED, "random", "hosts", "60" if full else "5", str(tmp_path), seconds=290)
    assert found["list"] > 0
    report("scattered transfers between two hosts equal to MPI's pack and unpack", found)


@pytest.mark.full
def test_a_contiguous_transfer_reaches_the_rate_of_mpi(two: Hosts, report: Callable[[str, object], None], tmp_path: Path) -> None:
    """Both over one link in one job, in turns."""
    found = run_json(two, PROGRAM, "rate", str(tmp_path))
    report("MB/s between two hosts at 500 Mbit/s: raw MPI, isoviz", f"{found['raw']:.1f}, {found['isoviz']:.1f}")
    assert found["isoviz"] >= 0.8 * found["raw"]


@pytest.mark.full
def test_a_notebook_on_one_host_has_ranks_on_both(two: Hosts) -> None:
    """The workers connect to the notebook's address, on the other host too, and nothing is left once it closes them."""
    command = two.on(0, sys.executable, HERE / "notebook_far.py", "4", two.addresses[0], *two.mpi_options(2))
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    found = json.loads(done.stdout)
    first, second = two.names
    assert found["hosts"] == [first, first, second, second] and found["verified"]
    assert until(lambda: not two.left()), two.left()


@pytest.mark.full
def test_the_same_program_runs_on_both_hosts(two: Hosts, tmp_path: Path) -> None:
    """`mpiexec -n 4 isoviz run FILE`."""
    file = tmp_path / "between.toml"
    file.write_text(BETWEEN)
    found = run_json(two, "-m", "isoviz", "run", str(file), "--json")
    assert found["verified"] is True


@pytest.mark.full
def test_paths_over_links_of_their_own_add_up(full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    """Four hosts, and a link of 40 Mbit/s between any two of them. A proxy receives and forwards at once."""
    reason = why_not() if is_open_mpi() else "MPICH's UCX reaches only hosts to which one and the same interface leads"
    if reason is not None:
        pytest.skip(reason)
    with Hosts(4, tmp_path, "40mbit", pairs=True) as hosts:
        found = run_json(hosts, PROGRAM, "paths", str(tmp_path), "5" if full else "1", ranks=1, seconds=200)
    for way in ("1", "2", "3", "2 proxies"):
        said = f"{found[way]:.2f}, predicted {found['predicted'][way]:.2f}, {found[way] / found['1']:.2f} × one path"
        report(f"MB/s over links of 40 Mbit/s between four hosts, {way} path(s)", said)
    report("share of the time in which a proxy receives and also forwards", f"{found['overlap']:.2f}")
    assert found["overlap"] > 0.5
    least = 1.4  # of 2, on a busy computer; the figures are reported
    assert found["2"] >= least * found["1"] and found["2 proxies"] >= least * found["1"], found
    assert found["3"] >= 1.4 * least * found["1"], found


@pytest.mark.full
def test_a_broken_link_ends_all_ranks_with_an_error(report: Callable[[str, object], None], tmp_path: Path) -> None:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    with Hosts(2, tmp_path) as hosts:
        job = start(hosts, PROGRAM, "breaks", str(tmp_path))
        try:
            assert until(lambda: len(list(tmp_path.glob("begun*"))) == 4)
            hosts.unplug(1)
            broke = time.monotonic()
            assert until(lambda: len(list(tmp_path.glob("ended*"))) == 4), sorted(tmp_path.glob("*ed*"))
            ends = [json.loads((tmp_path / f"ended{rank}").read_text()) for rank in range(4)]
            report("seconds until every rank says that the link is broken", f"{max(end['at'] for end in ends) - broke:.1f}")
            for end in ends:
                assert end["type"] in ("RankLost", "RunError") and "no sign of life" in end["words"], end

            def ranks() -> list[str]:
                return [each for k in range(2) for each in hosts.processes(k).values() if each.startswith(sys.executable)]

            assert until(lambda: not ranks()), ranks()
        finally:
            kill(job)  # What MPI itself runs waits for the network.
            print(*job.communicate())
        assert until(lambda: not hosts.left()), hosts.left()
