"""The communicator of a program on modelled MPI."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from isoviz.checks import amount, count, expect, parts
from isoviz.errors import InputError, show
from isoviz.machines.presets.vortex import VortexFigures
from isoviz.vortex.modelled_mpi.system import ANY_SOURCE, ANY_TAG, Computed, MessageHost, MessageSystem, Request
from isoviz.vortex.traffic import whole_numbers

MOST_TAG = (1 << 31) - 1


def messages(nodes: int, seed: int = 0, *, figures: VortexFigures | None = None, skew: float = 1e-6) -> MessageSystem:
    """Nodes that send messages over InfiniBand, modelled in this process. `run` gives each program a `Communicator`.

    - `seed` decides how late each node begins, at most `skew` seconds. The same seed gives the same run.
    - `figures`: what messages cost; by default those of the preset `vortex-infiniband`.

    Raises:
        InputError: an argument is out of range.
    """
    return MessageSystem(nodes, seed, VortexFigures() if figures is None else figures, skew, Communicator)


class Communicator:
    """The communicator of all nodes, for the program on one of them, with names of mpi4py. `MessageSystem.run` makes it.

    A program that uses these methods on NumPy arrays, without `compute` and `seconds`, also runs on a communicator of mpi4py.
    Receive buffers are contiguous. Messages between two nodes with one tag arrive in order. A collective call sends messages
    itself: `Barrier` by dissemination, `Bcast` along a binomial tree, `Allreduce` by recursive doubling, and the others send to
    every node at once, beginning with the next node.

    Every call raises InputError if a node does not exist or an argument is not an array, and RunError if it waits for a message
    that will never come.
    """

    def __init__(self, host: MessageHost) -> None:
        self.rank, self.size = host.rank, host.system.nodes
        self._host = host

    def Get_rank(self) -> int:  # noqa: N802
        """The number of this node, as `rank`."""
        return self.rank

    def Get_size(self) -> int:  # noqa: N802
        """How many nodes there are, as `size`."""
        return self.size

    @property
    def seconds(self) -> float:
        """Modelled seconds since this node began."""
        return self._host.clock - self._host.began

    def compute(self, seconds: float) -> None:
        """Let the host work for `seconds` of modelled time."""
        host = self._host.own("compute")
        host.clock += amount("compute", "seconds", seconds)
        ended = host.clock - host.system.began
        host.system.computed.append(Computed(self.rank, ended - seconds, ended))

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:  # noqa: N802
        """Begin to send an array to a node."""
        return self._host.own("Isend").send(_array("Isend", buf), self._node("Isend", dest), _tag("Isend", tag))

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:  # noqa: N802
        """Begin to receive into an array, from a node (or any), with a tag (or any)."""
        source = self._node("Irecv", source, ANY_SOURCE)
        return self._host.own("Irecv").receive(_into("Irecv", buf), source, _tag("Irecv", tag, ANY_TAG))

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:  # noqa: N802
        """Send an array to a node. If it is too long to go at once, wait until the node receives it."""
        self.Isend(buf, dest, tag).Wait()

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> None:  # noqa: N802
        """Receive into an array."""
        self.Irecv(buf, source, tag).Wait()

    def Sendrecv(  # noqa: N802
        self,
        sendbuf: Any,
        dest: int,
        sendtag: int = 0,
        recvbuf: Any = None,
        source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> None:
        """Send an array and receive into another one at the same time."""
        Request.Waitall([self.Irecv(recvbuf, source, recvtag), self.Isend(sendbuf, dest, sendtag)])

    # ---- collective calls

    def Barrier(self) -> None:  # noqa: N802
        """Wait until all nodes are here: ⌈log₂ n⌉ messages, one after the other."""
        step, token = 1, np.zeros(1, np.uint8)
        while step < self.size:
            self._swap("Barrier", token, self.rank + step, token.copy(), self.rank - step)
            step *= 2

    def Bcast(self, buf: Any, root: int = 0) -> None:  # noqa: N802
        """The array of `root` goes to all."""
        host, data, root = self._host.own("Bcast"), _into("Bcast", buf), self._node("Bcast", root)
        place, step = (self.rank - root) % self.size, 1
        while step < self.size and not place & step:
            step *= 2
        if place:
            host.wait([host.receive(data, (place - step + root) % self.size, "Bcast")])
        requests = []
        while step := step // 2:
            if place + step < self.size:
                requests.append(host.send(data, (place + step + root) % self.size, "Bcast"))
        host.wait(requests)

    def Allreduce(self, sendbuf: Any, recvbuf: Any, op: Any = None) -> None:  # noqa: N802
        """The sum of the arrays of all nodes, element by element, on every node.

        `op` is another operation: a commutative ufunc of NumPy such as `np.maximum`.
        """
        call, half = "Allreduce", 1 << (self.size.bit_length() - 1)
        host, found, into = self._host.own(call), _array(call, sendbuf).copy(), _into(call, recvbuf)
        if (found.size, found.dtype) != (into.size, into.dtype):
            raise InputError(
                f"{call}: expected two arrays of one kind, got {found.size} of {found.dtype} and {into.size} of {into.dtype}"
            )
        operation, other, rank = np.add if op is None else op, np.empty_like(found), self.rank
        expect(f"{call}, op", operation, np.ufunc, "a ufunc of NumPy")
        if rank >= half:
            self._swap(call, found, rank - half, found, rank - half)
        else:
            if rank + half < self.size:
                host.wait([host.receive(other, rank + half, call)])
                operation(found, other, out=found)
            step = 1
            while step < half:
                self._swap(call, found, rank ^ step, other, rank ^ step)
                operation(found, other, out=found)
                step *= 2
            if rank + half < self.size:
                host.wait([host.send(found, rank + half, call)])
        into.reshape(-1)[:] = found.reshape(-1)

    def Alltoall(self, sendbuf: Any, recvbuf: Any) -> None:  # noqa: N802
        """Each node sends an equal part of its array to each node: part k goes to node k and becomes its part `rank`."""
        parts = [_parts("Alltoall", buf, self.size) for buf in (_array("Alltoall", sendbuf), _into("Alltoall", recvbuf))]
        self._exchange("Alltoall", *parts)

    def Alltoallv(self, sendbuf: Any, recvbuf: Any) -> None:  # noqa: N802
        """The same with parts of any lengths: each argument is `[array, counts]` or `[array, (counts, displacements)]`, in
        elements."""
        self._exchange("Alltoallv", self._cut("Alltoallv", sendbuf, _array), self._cut("Alltoallv", recvbuf, _into))

    def Allgather(self, sendbuf: Any, recvbuf: Any) -> None:  # noqa: N802
        """The arrays of all nodes, one after the other, on each of them."""
        send, parts = _array("Allgather", sendbuf), _parts("Allgather", _into("Allgather", recvbuf), self.size)
        self._exchange("Allgather", [send.reshape(-1)] * self.size, parts)

    def Allgatherv(self, sendbuf: Any, recvbuf: Any) -> None:  # noqa: N802
        """The same with arrays of any lengths: `recvbuf` is as that of `Alltoallv`."""
        send = _array("Allgatherv", sendbuf).reshape(-1)
        self._exchange("Allgatherv", [send] * self.size, self._cut("Allgatherv", recvbuf, _into))

    def _exchange(self, call: str, sends: Sequence[np.ndarray[Any, Any]], receives: Sequence[np.ndarray[Any, Any]]) -> None:
        """A part to and from each node. Empty ones do not go."""
        host, rank, size = self._host.own(call), self.rank, self.size
        own, into = sends[rank], receives[rank]
        if (len(own), own.dtype) != (len(into), into.dtype):
            raise InputError(
                f"{call}: {len(own)} of {own.dtype} go to the own node, and {len(into)} of {into.dtype} are to come from it"
            )
        into[:] = own
        others = [(rank + step) % size for step in range(1, size)]
        requests = [host.receive(receives[node], node, call) for node in reversed(others) if len(receives[node])]
        requests += [host.send(sends[node], node, call) for node in others if len(sends[node])]
        host.clock += own.nbytes / host.system.figures.copy
        host.wait(requests)

    def _swap(self, call: str, data: np.ndarray[Any, Any], to: int, into: np.ndarray[Any, Any], source: int) -> None:
        host = self._host.own(call)
        host.wait([host.receive(into, source % self.size, call), host.send(data, to % self.size, call)])

    def _node(self, call: str, rank: int, low: int = 0) -> int:
        return count(call, "node", rank, low=low, high=self.size - 1)

    def _cut(self, call: str, given: Any, check: Callable[[str, Any], np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
        """The parts of `[array, counts]` or `[array, (counts, displacements)]`."""
        if not isinstance(given, list | tuple) or len(given) != 2:
            raise InputError(f"{call}: expected [array, counts] or [array, (counts, displacements)], got {show(given)}")
        array, lengths = check(call, given[0]).reshape(-1), given[1]
        begins = None
        if isinstance(lengths, tuple) and len(lengths) == 2 and parts(lengths[0]) is not None:
            lengths, begins = lengths
        sizes = whole_numbers(f"{call}, counts", lengths).tolist()
        firsts = [0, *accumulate(sizes[:-1])] if begins is None else whole_numbers(f"{call}, displacements", begins).tolist()
        if len(sizes) != self.size or len(firsts) != self.size:
            raise InputError(f"{call}: {len(sizes)} counts and {len(firsts)} displacements for {self.size} nodes")
        if max(first + size for first, size in zip(firsts, sizes, strict=True)) > len(array):
            raise InputError(f"{call}: the counts go beyond the {len(array)} elements of the array")
        return [array[first : first + size] for first, size in zip(firsts, sizes, strict=True)]


def _array(call: str, given: Any) -> np.ndarray[Any, Any]:
    """An array that can be sent."""
    if not isinstance(given, np.ndarray) or given.dtype.hasobject or not given.flags.c_contiguous:
        raise InputError(f"{call}: expected a contiguous array of NumPy, got {show(given)}")
    return given


def _into(call: str, given: Any) -> np.ndarray[Any, Any]:
    """An array that can be received into."""
    array = _array(call, given)
    if not array.flags.writeable:
        raise InputError(f"{call}: expected an array that can be written, got one that cannot")
    return array


def _parts(call: str, array: np.ndarray[Any, Any], nodes: int) -> list[np.ndarray[Any, Any]]:
    if array.size % nodes:
        raise InputError(f"{call}: {array.size} elements; expected as many for each of {nodes} nodes")
    return list(array.reshape(nodes, -1))


def _tag(call: str, tag: int, low: int = 0) -> int:
    return count(call, "tag", tag, low=low, high=MOST_TAG)
