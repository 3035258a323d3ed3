"""The ends of a redistribution on one rank: its part of the source and its part of the destination, opened."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from isoviz.backends.formats.arrays import in_memory_order
from isoviz.backends.host.host_memory import HostMemory
from isoviz.backends.mpi.rank_devices import RegMemory
from isoviz.errors import ArrayError, DistributionError, TransferError
from isoviz.layouts.given_arrays import form_of, host_array
from isoviz.redistribution.running.content import generate

if TYPE_CHECKING:
    import numpy as np

    from isoviz.backends.host.host_memory import HostStore
    from isoviz.planner import Instance
    from isoviz.redistribution.distributed_instance import DistributedInstance
    from isoviz.runtime.protocols import Endpoint, RealMemory, Store
    from isoviz.runtime.ranks.handles import StoreHandle
    from isoviz.runtime.ranks.rank_engine import RankEngine


class Shown(NamedTuple):
    """What a rank shows the others of its ends.

    - `has_array`: whether it was given an array.
    - `source`, `destination`: handles. `problem`: in words, why an end is not open.
    - `lies`: how both ends lie (`Endpoint.lies`).
    """

    has_array: bool = False
    source: StoreHandle | None = None
    destination: StoreHandle | None = None
    problem: str | None = None
    lies: tuple[Instance | None, Instance | None] = (None, None)


class _Apart(NamedTuple):
    """An array of the caller that the other ranks of the host do not reach (`own`), and memory that they reach in its place.

    `structs` is the dtype of both, if the fields of an entry lie otherwise than the instance says.
    """

    own: HostStore
    shared: HostStore
    structs: np.dtype[Any] | None

    @classmethod
    def of(cls, own: HostStore, shared: HostStore, given: Any) -> _Apart:
        """For the array that was given."""
        shared.lies = own.lies
        return cls(own, shared, None if own.lies is None else in_memory_order(host_array(given, "array").dtype))


class OpenedEnds:
    """The ends on the rank of an engine. `open` opens them; an array that isoviz has provided stays valid after `close`.

    `memory` gives the real memory of a name.
    """

    def __init__(
        self,
        engine: RankEngine,
        memory: Callable[[str], RealMemory],
        source: DistributedInstance,
        destination: DistributedInstance,
    ) -> None:
        self._engine, self._memory, self._instance = engine, memory, source
        self._parts = source.part(engine.rank), destination.part(engine.rank)
        self._names = destination.fields.names
        self._stack = ExitStack()
        self.source: Endpoint | None = None
        self.destination: Endpoint | None = None
        self._apart: dict[str, _Apart] = {}
        self.given: tuple[Any | None, Any | None] = None, None
        self.into: Any | None = None
        self.error: Exception | None = None
        self.told: tuple[object, ...] | None = None
        """What the other ranks are shown (`Shown`), as a plain tuple: it is quicker to pickle. None before `open`."""

    def open(self, array: Any | None, into: Any | None, *, shows_source: bool) -> None:
        """Open this rank's ends. `shows_source` says whether the other ranks may read the source. No error is raised."""
        here, there = self._parts
        source: StoreHandle | None = None
        destination: StoreHandle | None = None
        try:
            for end, part, given in (("source", here, array), ("destination", there, into)):
                if part is None and given is not None:
                    self._require_nothing(end, given)
            if here is not None and array is not None:
                self.source = self._opened_source(here, array)
                self._stack.callback(self.source.close)
                source = self._exported(self.source) if shows_source else None
            if there is not None:
                self.destination = self._opened_destination(there, into)
                mine = self._apart["source"].own if "source" in self._apart else self.source
                if mine is not None and self.result is not None and mine.identity == self.result.identity:
                    raise TransferError("redistribution: array and into are the same, or overlap; nothing was changed")
                destination = self._exported(self.destination)
            self._require_fields()
        except Exception as error:  # noqa: BLE001  # the other ranks must not wait for this one
            self.error = error
        self.into = into
        self.given = self._in_place("source", array), self._in_place("destination", into)
        problem = None if self.error is None else f"rank {self._engine.rank}: {self.error}"
        self.told = tuple(Shown(array is not None, source, destination, problem, self.lies))

    def _require_nothing(self, end: str, given: Any) -> None:
        """Require that an array for a rank that holds no part is empty.

        Raises:
            ArrayError: it is not.
        """
        if isinstance(given, str | PathLike) or 0 not in form_of(given, f"{end} array").shape:
            raise ArrayError(
                f"{end} array: rank {self._engine.rank} holds no part of the {end}; expected none, or an empty array"
            )

    def _require_fields(self) -> None:
        """Require that both ends have every field.

        Raises:
            TransferError: an end lacks one.
        """
        for end, lies in zip(("source", "destination"), self.lies, strict=True):
            found = None if lies is None else lies.fields.real_names
            for name in self._names:
                if found is not None and name not in found:
                    raise TransferError(f"redistribution: field {name!r} is not in the {end} ({', '.join(found)})")

    def _opened_source(self, part: Instance, array: Any) -> Endpoint:
        memory = self._memory(part.memory)
        if not (isinstance(memory, RegMemory) and memory.lies_apart(array)):
            return memory.source(part, array)
        own = HostMemory.source(memory, part, array)
        self._stack.callback(own.close)
        shared = memory.destination(own.lies or part, None, False)
        self._apart["source"] = _Apart.of(own, shared, array)
        return shared

    def _opened_destination(self, part: Instance, into: Any | None) -> Endpoint:
        if self._engine.machine.memory(part.memory).is_file_system:
            raise DistributionError(
                f"redistribution: runs into host memory, not into files ({part.memory}); write the parts from there"
            )
        memory = self._memory(part.memory)
        is_apart = isinstance(memory, RegMemory) and into is not None and memory.lies_apart(into)
        if is_apart:
            own = HostMemory.destination(cast("RegMemory", memory), part, into, True)
            self._stack.callback(own.close)
        found = memory.destination(own.lies or part if is_apart else part, None if is_apart else into, True)
        if into is not None:
            self._stack.callback(found.close)
        if is_apart:
            self._apart["destination"] = _Apart.of(own, cast("HostStore", found), into)
        return found

    def _in_place(self, end: str, given: Any) -> Any:
        """What the engine takes for an array of the caller: None where memory of the same bytes stands for it."""
        apart = self._apart.get(end)
        if apart is None:
            return given
        return None if apart.structs is None else apart.shared.array.view(apart.structs)

    @property
    def lies(self) -> tuple[Instance | None, Instance | None]:
        """How both ends lie (`Endpoint.lies`)."""
        here, there = [None if end is None else end.lies for end in (self.source, self.destination)]
        return here, there

    @property
    def result(self) -> Endpoint | None:
        """What this rank's part of the destination lies in after a run."""
        return self._apart["destination"].own if "destination" in self._apart else self.destination

    def fetch(self) -> None:
        """Before a run: copy what the source holds if the other ranks do not reach it."""
        if (found := self._apart.get("source")) is not None:
            found.shared.array[:] = found.own.array

    def deliver(self) -> None:
        """After a run: copy what has arrived if the other ranks do not reach the destination."""
        if (found := self._apart.get("destination")) is None:
            return
        if (structs := found.structs) is None:
            found.own.array[:] = found.shared.array
        else:
            for name in self._names:  # what lies beside the fields stays
                found.own.array.view(structs)[name] = found.shared.array.view(structs)[name]

    @property
    def notes(self) -> list[str]:
        """The notes of both ends."""
        found = [note for store in (self.source, self.destination) if store is not None for note in store.notes]
        where = "lies outside of the memory that the ranks share, so it was copied, which is not in the measured time"
        return [*found, *(f"an array of the {end} {where}" for end in self._apart)]

    def generate(self) -> None:
        """Open this rank's part of the source with generated data."""
        part = self._parts[0]
        if part is None:
            return
        if self._engine.machine.memory(part.memory).is_file_system:
            raise DistributionError(f"redistribution: generated data need host memory, not {part.memory}; give paths of files")
        self.source = self._memory(part.memory).destination(part, None, True)
        self._stack.callback(self.source.close)
        generate(self._instance, self._engine.rank, cast("HostStore", self.source).array)

    def _exported(self, store: Endpoint) -> StoreHandle:
        """The handle of an end for the other ranks."""
        handle = self._engine.devices.export(store)
        self._stack.callback(partial(self._engine.devices.withdraw, handle))
        return handle

    def reach(self, handle: StoreHandle) -> Store:
        """An end of another rank, until `close`."""
        store = self._engine.devices.reach(handle)
        self._stack.callback(store.close)
        return store

    def close(self) -> None:
        """Withdraw what the peers reach, and close what isoviz has not provided."""
        self._stack.close()
