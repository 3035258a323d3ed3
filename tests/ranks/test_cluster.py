"""The MPI engines of a real ipyparallel cluster serve as ranks, and stay."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rank_calls
from mpi_jobs import needs_mpi

import isoviz
from isoviz.errors import InputError, RankError, RankLost

ipyparallel = pytest.importorskip("ipyparallel")


def test_something_else_is_no_cluster() -> None:
    with pytest.raises(InputError, match="cluster=4; expected a Cluster or a Client of ipyparallel"):
        isoviz.ranks(cluster=4)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    if os.geteuid() == 0:
        monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
        monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    found = ipyparallel.Cluster(engines="mpi", n=2, profile_dir=str(tmp_path / "profile"))
    found.start_cluster_sync()
    try:
        yield found
    finally:
        found.stop_cluster_sync()


@needs_mpi
@pytest.mark.full
@pytest.mark.filterwarnings("ignore")  # ipyparallel's own: sockets and processes that it leaves to the garbage collector
def test_engines_serve_and_stay(cluster: Any) -> None:
    with cluster.connect_client_sync() as client:
        client.wait_for_engines(2, timeout=250)
        engines = dict(client[:].apply_async(os.getpid).get_dict(60))
        for attached in (cluster, client):
            with isoviz.ranks(cluster=attached) as ranks:
                assert len(ranks) == 2 and sorted(ranks.call(rank_calls.pid)) == sorted(engines.values())
                assert ranks.call(rank_calls.summed, 1) == [3, 3]
                with pytest.raises(RankError, match="one and one are three"):
                    ranks.call(rank_calls.fail_on, 1)
                assert client[:].apply_sync(os.getpid) == list(engines.values())  # the engines still serve their own cluster
            assert not ranks.is_alive
        with pytest.raises(InputError, match="has 2 engines; expected 4"):
            isoviz.ranks(4, cluster=client)
        ranks = isoviz.ranks(cluster=client)
        os.kill(ranks.processes[1].pid, signal.SIGKILL)
        with pytest.raises(RankLost, match=r"rank \d .*; the engines were let go; isoviz\.ranks\(cluster=…\) attaches"):
            ranks.call(rank_calls.hang)
        ranks.close()
