"""Kinds of memories and channels (Isometry, tables 1 and 2): frozen values in a registry that other packages may extend.

A kind is a string, its name: `MemoryKind.SYS == "SYS"`. It is a card: its properties hold all that the rest of isoviz needs to
know about it. The cards of isoviz are in the folders `memory_kinds` and `channel_kinds`. There is one object per kind: copies and
unpickled kinds are the same object, so `is` compares kinds.

    >>> hbm = register_memory_kind("HBM", description="stacked memory of an accelerator")
    >>> register_channel_kind("HBMRead", sources=[hbm], destinations=["SYS"], description="an accelerator's DMA engine")
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal, NoReturn, Self, TypeVar, get_args

from isoviz import checks
from isoviz.errors import MachineError
from isoviz.machines.cards import IN_MEMORY, ON_DISK, ON_GPU, PLAIN, AssumedFigures, Distance, Protocol, RequestRule, Ways

DeviceForm = Literal["number", "directory", "text"]
"""The form of `Memory.device` for a kind: a number (of a GPU, a rank, a NUMA node), a directory, or a name as text."""


_Part = TypeVar("_Part")


class _Kind(str):
    """A registered name with properties. The constructor returns the kind that is registered under a name."""

    __slots__ = ("description",)

    description: str
    _noun: ClassVar[str]
    _registered: ClassVar[dict[str, Any]]

    def __new__(cls, name: object) -> Self:
        found: Self | None = cls._registered.get(name) if isinstance(name, str) else None
        if found is None:
            raise MachineError(f"{cls._noun}: {cls._refusal(name)}")
        return found

    @classmethod
    def of(cls, owner: str, field: str, value: object) -> Self:
        """The kind that `value` is or names.

        Raises:
            MachineError: `value` is not a registered kind. The message names `owner`, `field` and the registered kinds.
        """
        if isinstance(value, cls):
            return value
        found: Self | None = cls._registered.get(value) if isinstance(value, str) else None
        if found is None:
            raise checks.FieldError(owner, field, cls._refusal(value))
        return found

    @classmethod
    def words_for(cls, name: str) -> str:
        """The words for the kind of this name; the name itself if no such kind is registered."""
        checks.expect(cls._noun, name, str, "the name of a kind")
        found: Self | None = cls._registered.get(name)
        return name if found is None else found.words

    @classmethod
    def _refusal(cls, value: object) -> str:
        known = ", ".join(cls._registered)
        return f"expected one of {known}, got {checks.show(value)} (kinds of another package are known once it is imported)"

    @classmethod
    def _register(cls, name: str, properties: Mapping[str, object]) -> Self:
        """The kind with these properties. It is registered unless the same kind already is."""
        owner = f"{cls._noun} {checks.show(name)}"
        checks.text(owner, "name", name, spaces=False)
        checks.text(owner, "description", properties["description"], empty=True)
        known: Self | None = cls._registered.get(name)
        if known is not None:
            for key, value in properties.items():
                if getattr(known, key) != value:
                    raise MachineError(f"{owner} is registered already, with {key} {getattr(known, key)!r} instead of {value!r}")
            return known
        kind = str.__new__(cls, name)
        for key, value in properties.items():
            object.__setattr__(kind, key, value)
        cls._registered[str(name)] = kind
        return kind

    @property
    def name(self) -> str:
        """The name of the kind, as used in machine files."""
        return str(self)

    @property
    def words(self) -> str:
        """What people call the kind: its description, or its name if it has none."""
        return self.description or str(self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self._noun} {self}: kinds do not change")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self._noun} {self}: kinds do not change")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (str(self),)


class MemoryKind(_Kind):
    """The kind of a memory (Isometry, table 1). `MemoryKind("SYS")` returns a kind by its name.

    - `is_host`: whether a CPU addresses the memory directly.
    - `holds_buffers`: whether it can hold intermediate buffers. Their slots need addresses, which files do not have.
    - `is_file_system`: whether it holds files, which are named by paths and are read and written in pages.
    - `device`: the form of `Memory.device`.
    - `description`: what people call the kind, in one to three words.
    - `is_of_ranks`: whether a rank has memories of this kind. A machine that has only such kinds can be a machine of ranks.
    - `place`: where it is drawn on a node, as its row from the top and its place from left (0) to right (1). None: beside similar
      kinds.

    Raises:
        MachineError: no kind of this name is registered.
    """

    __slots__ = ("device", "holds_buffers", "is_file_system", "is_host", "is_of_ranks", "place")

    is_host: bool
    holds_buffers: bool
    is_file_system: bool
    device: DeviceForm
    is_of_ranks: bool
    place: tuple[float, float] | None
    _noun = "memory kind"
    _registered: ClassVar[dict[str, Any]] = {}

    SYS: ClassVar[MemoryKind]
    """Generic host memory, not registered with any device."""
    REG: ClassVar[MemoryKind]
    """Host memory registered with the network interface."""
    ZCM: ClassVar[MemoryKind]
    """Host memory pinned and mapped for a GPU (zero copy)."""
    FBM: ClassVar[MemoryKind]
    """GPU device memory (framebuffer)."""
    DSK: ClassVar[MemoryKind]
    """Files on persistent storage."""
    DV: ClassVar[MemoryKind]
    """Memory on the card of a Data Vortex."""


class ChannelKind(_Kind):
    """The kind of a channel: how it moves data (Isometry, table 2). `ChannelKind("Memcpy")` returns a kind by its name.

    - `sources`, `destinations`: the kinds of memory that are allowed at its ends.
    - `crosses_nodes`: whether its ends are on different nodes. The ends of all other channels are on one node.
    - `is_host_copy`: whether a processor copies within the memory of its node. The planners of Isometry's section 5 that convert
      in one place only do so in such a hop.
    - `in_flight`: the largest number of requests in flight on a channel that does not say so itself (`Channel.max_in_flight`).
    - `description`: what people call the kind, in one to three words.
    - `is_of_gpu`: whether a GPU carries it out, by its copy engines or kernels.
    - `colour`: the number of its colour in plots, from 0 to 6. None: kinds without one take the colours in turn.
    - `requests`: how it cuts chunks into requests.
    - `ways`: how a probe measures it; None if no probe does.
    - `same_host`, `other_host`: the assumed figures between two ranks; None if ranks have no channels of this kind.
    - `is_usual`: whether machines of ranks always have it, and their probe measures it. Other kinds are made on request, for
      comparisons.
    - `prepares`: whether a prepared transfer between two ranks of one host needs no message, so that a probe measures its start.
    - `counts_both_ends`: whether its requests gather at the source and scatter at the destination. `Channel.descriptors` then
      limits the runs of a request at each end separately.
    - `protocol`: the messages that a transfer takes besides its data; None if they are not known.

    Raises:
        MachineError: no kind of this name is registered.
    """

    __slots__ = (
        *("colour", "counts_both_ends", "crosses_nodes", "destinations", "in_flight", "is_host_copy", "is_of_gpu", "is_usual"),
        *("other_host", "prepares", "protocol", "requests", "same_host", "sources", "ways"),
    )

    sources: tuple[MemoryKind, ...]
    destinations: tuple[MemoryKind, ...]
    crosses_nodes: bool
    is_host_copy: bool
    in_flight: int
    is_of_gpu: bool
    colour: int | None
    requests: RequestRule
    ways: Ways | None
    same_host: AssumedFigures | None
    other_host: AssumedFigures | None
    is_usual: bool
    prepares: bool
    counts_both_ends: bool
    protocol: Protocol | None
    _noun = "channel kind"
    _registered: ClassVar[dict[str, Any]] = {}

    MEMCPY: ClassVar[ChannelKind]
    GPU_READ: ClassVar[ChannelKind]
    GPU_WRITE: ClassVar[ChannelKind]
    GPU_COPY: ClassVar[ChannelKind]
    ZERO_COPY_READ: ClassVar[ChannelKind]
    """Kernels of a GPU write its data into pinned memory, which they map. It converts, beside the copy engines of GPURead."""
    ZERO_COPY_WRITE: ClassVar[ChannelKind]
    """Kernels of a GPU read pinned memory, which they map. It converts, beside the copy engines of GPUWrite."""
    DISK_READ: ClassVar[ChannelKind]
    DISK_WRITE: ClassVar[ChannelKind]
    DIRECT_READ: ClassVar[ChannelKind]
    """A file is read straight into the memory of a GPU (GPUDirect Storage)."""
    DIRECT_WRITE: ClassVar[ChannelKind]
    """A file is written straight from the memory of a GPU (GPUDirect Storage)."""
    REMOTE_MEMCPY: ClassVar[ChannelKind]
    """Remote direct memory access between host memories of two nodes, as in table 2."""
    DIRECT_REMOTE: ClassVar[ChannelKind]
    """Remote direct memory access where the NIC reads or writes the memory of a GPU itself (GPUDirect RDMA)."""
    WINDOW: ClassVar[ChannelKind]
    """The copy of the sending rank straight into memory of its peer that both map. It converts."""
    PROCESS_WRITE: ClassVar[ChannelKind]
    """The sending rank packs, and the system writes into pageable memory of its peer on the same host. It converts."""
    TWO_SIDED: ClassVar[ChannelKind]
    """MPI send and receive straight between two memories. Memory of GPUs needs an MPI library that takes its addresses."""
    PACKED: ClassVar[ChannelKind]
    """Pieces are packed, sent with MPI, and placed by the receiving rank. It converts."""
    DERIVED: ClassVar[ChannelKind]
    """MPI send and receive of derived datatypes."""
    PUT: ClassVar[ChannelKind]
    """MPI put into a window of the peer."""
    UMR: ClassVar[ChannelKind]
    """The network cards gather and scatter, by keys that are mapped to lists of runs (user-mode memory registration)."""
    ASSISTED: ClassVar[ChannelKind]
    """A put between registered memories: the helper of the receiver posts receives that scatter, and copies nothing."""
    ASSISTED_GET: ClassVar[ChannelKind]
    """A get between registered memories: the helper of the owner posts sends that gather, and copies nothing."""
    GET_BY_PUT: ClassVar[ChannelKind]
    """A contiguous get between registered memories: the helper of the owner puts."""
    VIC_WRITE: ClassVar[ChannelKind]
    VIC_READ: ClassVar[ChannelKind]
    DMA_IN: ClassVar[ChannelKind]
    DMA_OUT: ClassVar[ChannelKind]
    PACKETS: ClassVar[ChannelKind]
    """Packets of one word between the cards of a Data Vortex. The order of the words changes nothing."""


def memory_kinds() -> tuple[MemoryKind, ...]:
    """The registered kinds of memory, in order of registration."""
    return tuple(MemoryKind._registered.values())  # noqa: SLF001  # this module's


def channel_kinds() -> tuple[ChannelKind, ...]:
    """The registered kinds of channel, in order of registration."""
    return tuple(ChannelKind._registered.values())  # noqa: SLF001  # this module's


def assumed_at(kind: ChannelKind, distance: Distance) -> AssumedFigures | None:
    """What is assumed of a kind between two ranks at a distance; None if they have no channels of this kind."""
    return kind.same_host if distance == "same host" else kind.other_host


def request_rule(name: str) -> RequestRule:
    """How a kind of channels cuts chunks, by its name in plans. A name that this process does not know has no rule of its own."""
    known: ChannelKind | None = ChannelKind._registered.get(name)  # noqa: SLF001  # this module's
    return PLAIN if known is None else known.requests


def register_memory_kind(
    name: str,
    *,
    is_host: bool = False,
    holds_buffers: bool = True,
    is_file_system: bool = False,
    device: DeviceForm = "number",
    description: str = "",
    is_of_ranks: bool = False,
    place: tuple[float, float] | None = None,
) -> MemoryKind:
    """Register a kind of memory for machines and machine files. `MemoryKind` explains the properties.

    A second registration with the same properties returns the same object. A process must register the kind before it reads or
    unpickles machines that use it.

    Raises:
        MachineError: the name belongs to a kind with other properties, or a property has the wrong type.
    """
    owner = f"memory kind {checks.show(name)}"
    checks.flag(owner, "is_host", is_host)
    checks.flag(owner, "holds_buffers", holds_buffers)
    checks.flag(owner, "is_file_system", is_file_system)
    if not checks.is_one_of(device, get_args(DeviceForm)):
        raise checks.FieldError(owner, "device", f"expected one of {', '.join(get_args(DeviceForm))}, got {checks.show(device)}")
    found = {
        "is_host": is_host,
        "holds_buffers": holds_buffers,
        "is_file_system": is_file_system,
        "device": device,
        "description": description,
        "is_of_ranks": checks.flag(owner, "is_of_ranks", is_of_ranks),
        "place": _place(owner, place),
    }
    return MemoryKind._register(name, found)  # noqa: SLF001  # this module's


def register_channel_kind(
    name: str,
    *,
    sources: Iterable[MemoryKind | str],
    destinations: Iterable[MemoryKind | str],
    crosses_nodes: bool = False,
    is_host_copy: bool = False,
    in_flight: int = 1,
    description: str = "",
    is_of_gpu: bool = False,
    colour: int | None = None,
    requests: RequestRule | None = None,
    ways: Ways | None = None,
    same_host: AssumedFigures | None = None,
    other_host: AssumedFigures | None = None,
    is_usual: bool = True,
    prepares: bool = False,
    counts_both_ends: bool = False,
    protocol: Protocol | None = None,
) -> ChannelKind:
    """Register a kind of channel for machines and machine files. `ChannelKind` explains the properties.

    A second registration with the same properties returns the same object. Without `requests`, a kind of host copies, GPUs or
    disks has the rule of these, and any other kind has no special rule.

    Raises:
        MachineError: the name belongs to a kind with other properties, an end is not a registered kind of memory, or a property
            has the wrong type.
    """
    owner = f"channel kind {checks.show(name)}"
    checks.flag(owner, "crosses_nodes", crosses_nodes)
    checks.flag(owner, "is_host_copy", is_host_copy)
    ends = _ends(owner, "sources", sources), _ends(owner, "destinations", destinations)
    on_disk = any(end.is_file_system for each in ends for end in each)
    rule = IN_MEMORY if is_host_copy else ON_GPU if is_of_gpu else ON_DISK if on_disk else PLAIN
    found = {
        "sources": ends[0],
        "destinations": ends[1],
        "crosses_nodes": crosses_nodes,
        "is_host_copy": is_host_copy,
        "in_flight": checks.whole(owner, "in_flight", in_flight, low=1, high=2**20),
        "description": description,
        "is_of_gpu": checks.flag(owner, "is_of_gpu", is_of_gpu),
        "colour": None if colour is None else checks.whole(owner, "colour", colour, high=6),
        "requests": _part(owner, "requests", requests, RequestRule) or rule,
        "ways": _part(owner, "ways", ways, Ways),
        "same_host": _part(owner, "same_host", same_host, AssumedFigures),
        "other_host": _part(owner, "other_host", other_host, AssumedFigures),
        "is_usual": checks.flag(owner, "is_usual", is_usual),
        "prepares": checks.flag(owner, "prepares", prepares),
        "counts_both_ends": checks.flag(owner, "counts_both_ends", counts_both_ends),
        "protocol": _part(owner, "protocol", protocol, Protocol),
    }
    if not crosses_nodes and (same_host is not None or other_host is not None):
        raise checks.FieldError(owner, "crosses_nodes", "expected true: it has figures between ranks, which are nodes")
    return ChannelKind._register(name, found)  # noqa: SLF001  # this module's


def _ends(owner: str, field: str, kinds: object) -> tuple[MemoryKind, ...]:
    given = checks.parts(kinds)
    if given is None:
        raise checks.FieldError(owner, field, f"expected a list of memory kinds, got {checks.show(kinds)}")
    found = tuple(MemoryKind.of(owner, f"{field}[{k}]", kind) for k, kind in enumerate(given))
    if not found:
        raise checks.FieldError(owner, field, "expected at least one memory kind, got none")
    return found


def _part(owner: str, field: str, value: _Part | None, kind: type[_Part]) -> _Part | None:
    """A part of a card, which has to be a value of its own kind."""
    if value is not None and not isinstance(value, kind):
        raise checks.FieldError(owner, field, f"expected {kind.__name__} or None, got {checks.show(value)}")
    return value


def _place(owner: str, place: object) -> tuple[float, float] | None:
    if place is None:
        return None
    given = checks.parts(place)
    if given is None or len(given) != 2:
        raise checks.FieldError(owner, "place", f"expected a row and a place from left to right, got {checks.show(place)}")
    return checks.number(owner, "place, row", given[0]), checks.number(owner, "place, across", given[1], high=1.0)
