"""Modelled MPI: data arrive where NumPy puts them, times are those of the preset, and what goes wrong has a name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from isoviz.errors import InputError, RankError
from isoviz.machines.presets.vortex import VortexFigures, message_curve
from isoviz.vortex import Communicator, ProgramRun, Request, messages

FIGURES = VortexFigures()


def run(program: Callable[..., Any], *arguments: Any, nodes: int = 4, seed: int = 1, skew: float = 1e-6) -> ProgramRun:
    with messages(nodes, seed, skew=skew) as system:
        return system.run(program, *arguments)


def pass_on(comm: Communicator, size: int) -> float:
    """A message from node 0 to node 1: when it is there."""
    data = np.arange(size, dtype=np.uint8)
    if comm.rank == 0:
        comm.Send(data, 1)
    elif comm.rank == 1:
        comm.Recv(found := np.empty_like(data), 0)
        assert np.array_equal(found, data)
    return comm.seconds


def test_a_message_alone_takes_what_the_preset_says() -> None:
    curve = message_curve(FIGURES)
    for size, rate in curve.measured or curve.samples:
        if size <= 1 << 21:
            assert run(pass_on, int(size), skew=0).results[1] == pytest.approx(FIGURES.latency + size / rate, rel=1e-9)


def everything(comm: Communicator) -> dict[str, Any]:
    """All collective calls, on integers."""
    n, rank = comm.size, comm.rank
    every = np.arange(n)
    found: dict[str, Any] = {}
    found["Bcast"] = np.arange(5) * (rank + 1)
    comm.Bcast(found["Bcast"], root=n - 1)
    for name, op in (("sum", None), ("most", np.maximum)):
        comm.Allreduce(np.array([rank, rank**2]), into := np.empty(2, int), op=op)
        found[name] = into
    comm.Alltoall(rank * 100 + np.repeat(every, 2), into := np.empty(2 * n, int))
    found["Alltoall"] = into
    sends, receives = (rank + every) % 3, (rank + every) % 3
    comm.Alltoallv([np.repeat(rank * 100 + every, sends), sends], [into := np.empty(receives.sum(), int), receives])
    found["Alltoallv"] = into
    comm.Allgather(np.full(2, rank), into := np.empty((n, 2), int))
    found["Allgather"] = into
    comm.Allgatherv(np.full(rank, rank), [into := np.zeros(n * n, int), (every, every * n)])
    found["Allgatherv"] = into
    comm.Sendrecv(np.full(300, rank), (rank + 1) % n, recvbuf=(into := np.empty(300, int)), source=(rank - 1) % n)
    found["Sendrecv"] = into
    comm.Barrier()
    return found


@pytest.mark.parametrize("nodes", [1, 2, 5, 8])
def test_collective_calls_give_what_numpy_gives(nodes: int) -> None:
    every = np.arange(nodes)
    for rank, found in enumerate(run(everything, nodes=nodes).results):
        gathered = np.zeros((nodes, nodes), int)
        for other in range(nodes):
            gathered[other, :other] = other
        right = {
            "Bcast": np.arange(5) * nodes,
            "sum": [every.sum(), (every**2).sum()],
            "most": [nodes - 1, (nodes - 1) ** 2],
            "Alltoall": np.repeat(100 * every + rank, 2),
            "Alltoallv": np.repeat(100 * every + rank, (rank + every) % 3),
            "Allgather": np.stack([every, every], axis=1),
            "Allgatherv": gathered.reshape(-1),
            "Sendrecv": np.full(300, (rank - 1) % nodes),
        }
        assert all(np.array_equal(found[name], each) for name, each in right.items())


def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    runs = [run(everything, nodes=8, seed=seed).by_node for seed in (4, 4, 5)]
    assert runs[0] == runs[1] != runs[2]


def test_a_barrier_takes_a_short_message_for_each_doubling_of_the_nodes() -> None:
    for nodes, steps in ((2, 1), (5, 3), (8, 3), (32, 5)):
        found = run(Communicator.Barrier, nodes=nodes, skew=0).seconds
        assert found == pytest.approx(steps * FIGURES.barrier_step, rel=1e-3)


def all_to_one(comm: Communicator, size: int, times: int) -> None:
    if comm.rank:
        data = np.zeros(size, np.uint8)
        Request.Waitall([comm.Isend(data, 0) for _ in range(times)])
    else:
        buffers = np.empty((comm.size - 1, times, size), np.uint8)
        Request.Waitall([comm.Irecv(buffers[other - 1, time], other) for other in range(1, comm.size) for time in range(times)])


def test_a_link_is_shared_and_so_is_the_rate_of_messages() -> None:
    size = 1 << 20
    assert run(all_to_one, size, 1, nodes=9).seconds == pytest.approx(7 * size / FIGURES.link + size / FIGURES.mpi_rate, rel=0.01)
    assert run(all_to_one, size, 4, nodes=2).seconds == pytest.approx(4 * size / FIGURES.mpi_rate, rel=0.05)
    assert run(all_to_one, 8, 40, nodes=9).seconds == pytest.approx(8 * 40 * FIGURES.message, rel=0.05)
    with messages(9) as system:
        system.run(all_to_one, 8, 40)
        assert len(system.sent) == 320 and all(each.to == 0 and each.begin < each.end for each in system.sent)


def overlapped(comm: Communicator) -> Any:
    """Node 0 computes while a message comes, and looks at times."""
    data = np.full(1 << 20, comm.rank)
    if comm.rank == 1:
        comm.Send(data, 0, tag=3)
        return None
    request, looks = comm.Irecv(data, tag=3), 0
    while not request.Test():
        comm.compute(50e-6)
        looks += 1
    assert (data == 1).all()
    return looks, comm.seconds


def test_computing_overlaps_with_messages() -> None:
    looks, seconds = run(overlapped, nodes=2).results[0]
    alone = (8 << 20) / FIGURES.mpi_rate
    assert looks == np.ceil(alone / 50e-6) and alone < seconds < alone + 60e-6
    with messages(2) as system:
        system.run(overlapped)
        assert len(system.computed) == looks and system.computed[0].end - system.computed[0].begin == pytest.approx(50e-6)


def first_of_two(comm: Communicator) -> list[tuple[int, float]]:
    """Nodes 1 and 2 send to node 0, the one after 9 µs, the other after 2 µs."""
    if comm.rank:
        comm.compute((9e-6, 2e-6)[comm.rank - 1])
        comm.Send(np.zeros(1), 0)
        return []
    requests, found = [comm.Irecv(np.empty(1), node) for node in (1, 2)], []
    while requests:
        found.append((Request.Waitany(requests), comm.seconds))
        del requests[found[-1][0]]
    return found


def test_one_of_several_requests_is_waited_for_and_the_first_that_ended_counts() -> None:
    (one, early), (other, late) = run(first_of_two, nodes=3, skew=0).results[0]
    assert (one, other) == (1, 0)
    assert late - early == pytest.approx(7e-6)
    with pytest.raises(InputError, match="Waitany: expected requests, got none"):
        run(lambda _: Request.Waitany([]))


def test_messages_with_one_tag_do_not_overtake_one_another() -> None:
    def program(comm: Communicator) -> Any:
        sizes = np.random.default_rng(7).integers(1, 400, 50)
        if comm.rank == 0:
            return Request.Waitall([comm.Isend(np.full(size, number), 1) for number, size in enumerate(sizes)])
        comm.compute(20e-6)
        for number, size in enumerate(sizes):
            comm.Recv(found := np.empty(size, int))
            assert (found == number).all()
        return None

    run(program, nodes=2)


def wrong(comm: Communicator, what: str, kept: list[Communicator]) -> None:
    kept.append(comm)
    data, other = np.zeros(1000), 1 - comm.rank
    if what == "both send":
        comm.Send(data, other, tag=5)
    elif comm.rank == 0:
        calls: dict[str, Callable[[], object]] = {
            "nobody sends": lambda: comm.Recv(data, 1),
            "nobody receives": lambda: comm.Send(data[:2], 1, tag=4),
            "left out": comm.Barrier,
            "no node": lambda: comm.Send(data, 2),
            "no array": lambda: comm.Send(5, 1),
            "part": lambda: comm.Alltoall(np.zeros(3), data),
            "counts": lambda: comm.Alltoallv([data, [1000, 1]], [data, [1, 1]]),
            "tag": lambda: comm.Send(data, 1, tag=-1),
            "kinds": lambda: comm.Allreduce(data, np.zeros(1000, int)),
            "too short": lambda: comm.Recv(data[:5], 1),
            "other bytes": lambda: comm.Recv(data.view(np.int64), 1),
            "own part": lambda: comm.Alltoall(data, data.view(np.int64)),
            "error": lambda: {}["x"],
        }
        calls[what]()
    elif what in ("too short", "other bytes"):
        comm.Send(data[:6], 0)


@pytest.mark.parametrize(
    ("what", "error", "text"),
    [
        ("both send", RankError, "node 0: waits for node 1 to receive 8000 bytes with tag 5; nothing is under way"),
        ("nobody sends", RankError, "node 0: waits for a message from node 1 with any tag; nothing is under way"),
        ("nobody receives", RankError, "node 0: node 1 did not receive 16 bytes sent to it with tag 4"),
        ("left out", RankError, "node 0: waits for a message from node 1 in Barrier; nothing is under way"),
        ("no node", InputError, "node 0: Isend, node: expected a whole number from 0 to 1, got 2"),
        ("no array", InputError, "node 0: Isend: expected a contiguous array of NumPy, got 5"),
        ("part", InputError, "node 0: Alltoall: 3 elements; expected as many for each of 2 nodes"),
        ("counts", InputError, "node 0: Alltoallv: the counts go beyond the 1000 elements of the array"),
        ("tag", InputError, "node 0: Isend, tag: expected a whole number from 0"),
        ("kinds", InputError, "node 0: Allreduce: expected two arrays of one kind, got 1000 of float64 and 1000 of int64"),
        ("too short", RankError, "node 0: a message from node 1 with any tag: it has 48 bytes, and the array for it 40"),
        ("other bytes", RankError, "a message from node 1 with any tag: it is of float64, and the array for it of int64"),
        ("own part", InputError, "Alltoall: 500 of float64 go to the own node, and 500 of int64 are to come from it"),
        ("error", RankError, "node 0: KeyError: 'x'"),
    ],
)
def test_what_goes_wrong_on_one_node_ends_all_with_its_name(what: str, error: type[Exception], text: str) -> None:
    kept: list[Communicator] = []
    with messages(2) as system:
        with pytest.raises(error, match=text):
            system.run(partial(wrong, what=what, kept=kept))
        with pytest.raises(InputError, match="had an error"):
            system.run(wrong, "both send", kept)
    with pytest.raises(InputError, match=r"Barrier: the communicator of node . is for the program on that node, while it runs"):
        kept[0].Barrier()


def test_bad_systems() -> None:
    with pytest.raises(InputError, match="messages, nodes: expected a whole number from 1 to 1024, got 0"):
        messages(0)
    with pytest.raises(InputError, match="messages, figures: expected VortexFigures, got 5"):
        messages(2, figures=5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="messages, skew: expected a finite number ≥ 0 and ≤ 1, got -1"):
        messages(2, skew=-1)
    with messages(2) as system:
        pass
    with pytest.raises(InputError, match="the system is closed"):
        system.run(Communicator.Barrier)
