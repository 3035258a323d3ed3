"""Base classes of real memories and real channels, from which a device outside isoviz derives.

A device implements the abstract methods; all other methods have a default that suits a simple device. `isoviz.runtime.protocols`
documents each method. `examples/own_device.py` is a memory and a channel made with these classes.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isoviz.errors import TransferError
from isoviz.runtime.protocols import Holds

if TYPE_CHECKING:
    from isoviz.file_rights import Rights
    from isoviz.layouts import Layout, StridedCopy
    from isoviz.planner import Instance
    from isoviz.planner.bundled.bundle import BundleEnd
    from isoviz.planner.path_plan import Hop, PathPlan
    from isoviz.runtime.protocols import Check, Done, Endpoint, Expected, PartLoop, Slot, Store


class BaseStore(ABC):
    """A `Store` that requires no alignment. Each store sets the attribute `nbytes`."""

    alignment = 1
    base = 0
    reads_in_place = False
    nbytes: int

    @abstractmethod
    def read(self, offset: int, nbytes: int) -> bytes | np.ndarray[Any, np.dtype[np.uint8]]: ...

    def close(self) -> None:  # noqa: B027  # a default, not a gap
        """Release nothing."""


class BaseSlot(BaseStore):
    """A `Slot`. `place` does nothing, because the store requires no alignment."""

    def place(self, shift: int) -> None:
        """Leave the first byte where it is."""

    @abstractmethod
    def clear(self) -> None: ...


class BaseEndpoint(BaseStore):
    """An `Endpoint` that is its own identity and is complete as soon as it is written."""

    durable = False
    notes: tuple[str, ...] = ()
    sources: tuple[Rights, ...] = ()
    lies: Instance | None = None

    @property
    def identity(self) -> object:
        """The endpoint itself, because no other endpoint shares its bytes."""
        return self

    def comes_from(self, sources: tuple[Rights, ...]) -> None:
        """Keep nothing: it is not a file that others could open."""

    def flush(self) -> None:
        """Wait for nothing."""

    def publish(self) -> None:
        """Do nothing: the destination is visible from the beginning."""


class BaseMemory(ABC):
    """A `RealMemory` with the name of the described memory. By default it holds no buffers and accepts nothing in `copy`."""

    takes = ""
    lends_views = False
    """Whether its ends are views of arrays of the caller, which need no closing."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.notes: tuple[str, ...] = ()

    def slot(self, nbytes: int) -> Slot:  # noqa: ARG002  # the protocol's signature
        raise TransferError(f"{self.name}: keeps no intermediate buffers")

    @abstractmethod
    def source(self, instance: Instance, given: Any | None) -> Endpoint: ...

    @abstractmethod
    def destination(self, instance: Instance, given: Any | None, partial: bool) -> Endpoint: ...

    def together(self, stores: Sequence[Endpoint], end: BundleEnd) -> Endpoint:
        raise TransferError(
            f"{self.name}: takes no list of {len(stores)} objects for the {len(end.members)} transfers of a bundle; leave it out,"
            " or give one object that holds the data of all"
        )

    def received(self, given: Any) -> Any:
        """The object itself."""
        return given

    def holds(self, given: Any) -> Holds:  # noqa: ARG002  # the protocol's signature
        return Holds.NO

    def describe(self, given: Any, layout: Layout | str, like: Instance | None) -> Instance:  # noqa: ARG002  # the protocol's
        raise TransferError(f"{self.name}: cannot describe {type(given).__name__}")


class BaseChannel(ABC):
    """An ordinary `RealChannel`: `move` carries out copies."""

    at_once = False
    takes_lists = False
    is_asynchronous = False
    names_places = False

    @property
    def notes(self) -> tuple[str, ...]:
        """No notes."""
        return ()

    def prepare(self, nbytes: int) -> None:  # noqa: B027  # a default, not a gap
        """Load nothing."""

    def expect(self, requests: Iterable[Expected]) -> None:  # noqa: B027  # a default, not a gap
        """Compile nothing."""

    @property
    def part_loop(self) -> PartLoop | None:
        """None: every request is a call of `move`."""
        return None

    def requests_of_chunk(self, path: PathPlan, hop: Hop, request_bytes: int) -> int:
        return path.requests(hop, request_bytes)

    def kept_together(self, copies: Sequence[StridedCopy]) -> tuple[list[StridedCopy], list[StridedCopy]]:
        return [], list(copies)

    @abstractmethod
    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int: ...

    def prepared_move(
        self,
        copies: Sequence[StridedCopy],  # noqa: ARG002  # the protocol's signature
        source: Store,  # noqa: ARG002
        destination: Store,  # noqa: ARG002
    ) -> Sequence[Callable[[], object]] | None:
        """Nothing is known beforehand."""
        return None

    def start(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None:
        """Carry out the copies before returning."""
        try:
            count = self.move(copies, source, destination, check)
        except BaseException as error:  # noqa: BLE001  # `done` reports it
            done(error)
        else:
            done(count)

    def release(self) -> None:  # noqa: B027  # a default, not a gap
        """Release nothing."""


class AsynchronousChannel(BaseChannel):
    """An asynchronous `RealChannel`: `start` begins a request, and a request in flight needs no thread."""

    is_asynchronous = True

    @abstractmethod
    def start(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check, done: Done) -> None: ...

    def move(self, copies: Sequence[StridedCopy], source: Store, destination: Store, check: Check) -> int:
        """Start the copies and wait for their end.

        `check` does not end the wait, because the stores must stay open until the copies have ended.
        """
        ended = threading.Event()
        results: list[int | BaseException] = []

        def done(result: int | BaseException) -> None:
            results.append(result)
            ended.set()

        self.start(copies, source, destination, check, done)
        ended.wait()
        if isinstance(results[0], BaseException):
            raise results[0]
        return results[0]
