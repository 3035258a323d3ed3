"""Ranks on two hosts with links of their own: who shares memory, every byte, the rate of the link, and a link that breaks."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

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


@pytest.mark.full
def test_only_ranks_of_one_host_map_each_others_memory(two_hosts: Hosts, tmp_path: Path) -> None:
    found = two_hosts.run_json(2, PROGRAM, "maps", str(tmp_path))
    first, second = two_hosts.names
    assert found == {"hosts": [first, first, second, second], "mapped": [[1], [0], [3], [2]]}


@pytest.mark.full
def test_random_plans_between_hosts(two_hosts: Hosts, full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    found = two_hosts.run_json(2, RUNS, "hosts", "100" if full else "5", str(tmp_path), seconds=260)
    assert found["across"] > 0
    report("plans on two hosts, every byte verified", found["done"])
    report("plans on two hosts that cross ranks", found["across"])


@pytest.mark.full
def test_random_lists_between_hosts(two_hosts: Hosts, full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    """Lists, boxes and bundles, run, submitted and prepared: as MPI packs and unpacks them."""
    found = two_hosts.run_json(2, SCATTERED, "random", "hosts", "60" if full else "5", str(tmp_path), seconds=290)
    assert found["list"] > 0
    report("scattered transfers between two hosts equal to MPI's pack and unpack", found)


@pytest.mark.full
def test_a_contiguous_transfer_reaches_the_rate_of_mpi(
    two_hosts: Hosts, report: Callable[[str, object], None], tmp_path: Path
) -> None:
    """Both over one link in one job, in turns."""
    found = two_hosts.run_json(2, PROGRAM, "rate", str(tmp_path))
    report("MB/s between two hosts at 500 Mbit/s: raw MPI, isoviz", f"{found['raw']:.1f}, {found['isoviz']:.1f}")
    assert found["isoviz"] >= 0.8 * found["raw"]


@pytest.mark.full
def test_a_notebook_on_one_host_has_ranks_on_both(two_hosts: Hosts) -> None:
    """The workers connect to the notebook's address, on the other host too, and nothing is left once it closes them."""
    command = two_hosts.on(0, sys.executable, HERE / "notebook_far.py", "4", two_hosts.addresses[0], *two_hosts.mpi_options(2))
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    found = json.loads(done.stdout)
    first, second = two_hosts.names
    assert found["hosts"] == [first, first, second, second] and found["verified"]
    assert until(lambda: not two_hosts.left()), two_hosts.left()


@pytest.mark.full
def test_the_same_program_runs_on_both_hosts(two_hosts: Hosts, tmp_path: Path) -> None:
    """`mpiexec -n 4 isoviz run FILE`."""
    file = tmp_path / "between.toml"
    file.write_text(BETWEEN)
    found = json.loads(two_hosts.run(2, "-m", "isoviz", "run", str(file), "--json"))
    assert found["verified"] is True


@pytest.mark.full
def test_paths_over_links_of_their_own_add_up(full: bool, report: Callable[[str, object], None], tmp_path: Path) -> None:
    """Four hosts, and a link of 40 Mbit/s between any two of them. A proxy receives and forwards at once."""
    reason = why_not() if is_open_mpi() else "MPICH's UCX reaches only hosts to which one and the same interface leads"
    if reason is not None:
        pytest.skip(reason)
    with Hosts(4, tmp_path, "40mbit", pairs=True) as hosts:
        found = hosts.run_json(1, PROGRAM, "paths", str(tmp_path), "5" if full else "1", seconds=200)
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
        job = hosts.start(2, PROGRAM, "breaks", str(tmp_path))
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
