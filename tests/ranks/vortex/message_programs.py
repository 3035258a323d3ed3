"""Programs with messages, on modelled MPI and, under mpiexec, on ranks of mpi4py: all but `compute` and `seconds` is its."""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any

import numpy as np

from isoviz.vortex.workloads import barriers, fourier_transform, incompressible_flow, ping_pongs, random_updates

NODES = 4


def workloads(comm: Any, most: Any) -> list[str]:
    """What every call and workload gives on a node, as digests. `most`: the operation of the greatest element."""
    signal = fourier_transform.drawn(1 << 10, 3).reshape(32, 32)
    flow = incompressible_flow.shear_layers(16, 2)
    sent = np.arange(300)
    came = ping_pongs.on_messages(comm, sent, 2)
    found = [
        *collective_calls(comm, most),
        random_updates.on_messages(comm, 3000, 256, 5),
        fourier_transform.on_messages(comm, signal)[1],
        incompressible_flow.on_messages(comm, flow, 2, 0.01)[1],
        sent if came is None else came[1],
    ]
    barriers.on_messages(comm, 2)
    return [hashlib.sha256(np.ascontiguousarray(each).tobytes()).hexdigest()[:16] for each in found]


def collective_calls(comm: Any, most: Any) -> list[np.ndarray[Any, Any]]:
    """All collective calls, on integers."""
    n, rank = comm.Get_size(), comm.Get_rank()
    every, found = np.arange(n), [np.arange(5) * (rank + 1)]
    comm.Bcast(found[0], root=n - 1)

    def into(*shape: int) -> np.ndarray[Any, Any]:
        found.append(np.zeros(shape, int))
        return found[-1]

    comm.Allreduce(np.array([rank, rank**2]), into(2))
    comm.Allreduce(np.array([rank, rank**2]), into(2), op=most)
    comm.Alltoall(rank * 100 + np.repeat(every, 2), into(2 * n))
    counts = (rank + every) % 3
    comm.Alltoallv([np.repeat(rank * 100 + every, counts), counts], [into(int(counts.sum())), counts])
    comm.Allgather(np.full(2, rank), into(n, 2))
    comm.Allgatherv(np.full(rank, rank), [into(n * n), (every, every * n)])
    comm.Sendrecv(np.full(300, rank), (rank + 1) % n, recvbuf=into(300), source=(rank - 1) % n)
    requests = [comm.Irecv(into(7), (rank - 1) % n, tag=3), comm.Isend(np.full(7, rank), (rank + 1) % n, tag=3)]
    for request in requests:
        request.Wait()
    comm.Barrier()
    return found


def main() -> None:
    from mpi4py import MPI

    class Timed(MPI.Intracomm):
        """A communicator with what the modelled one has beside mpi4py's names."""

        def compute(self, seconds: float) -> None:
            """Computing takes what it takes."""

        @property
        def seconds(self) -> float:
            return time.perf_counter()

    every = MPI.COMM_WORLD.allgather(workloads(Timed(MPI.COMM_WORLD), MPI.MAX))
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(every), flush=True)


if __name__ == "__main__":
    main()
