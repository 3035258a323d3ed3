"""Instances and transfers: the data to move, their source and their destination (Isometry, section 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import InputError, TransferError, show
from isoviz.layouts import Box, FieldSpace, IndexSpace, Layout, Linearization, View
from isoviz.layouts.geometry import mean_run, strided_copies
from isoviz.layouts.layout import known_layout
from isoviz.layouts.recurring import RecurringChunks
from isoviz.layouts.windows import Keyed, keyed
from isoviz.machines import machine_argument
from isoviz.planner.intermediate.part_layouts import fitted
from isoviz.public_method import PublicMethod
from isoviz.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoviz.layouts import Chunk, ChunkSequence, StridedCopy
    from isoviz.machines import Machine, MachineLike, Memory


GivenEnd: TypeAlias = tuple[str, Layout | str]
"""An end of a transfer, as a memory and the layout that the data have there."""


@dataclass(frozen=True)
class Instance:
    """A collection of data in a memory: index space + field space + layout.

    `layout` may be given as text. `path` names the file that holds it, where the memory is a file system. In a raw file the data
    begin at byte `offset`. None means byte 0, and refuses a file of a known format other than `.npy`.

    Raises:
        NotationError, LayoutError: the layout is invalid, or does not fit the spaces.
        TransferError: the offset is not a whole number of bytes.
    """

    memory: str
    space: IndexSpace
    fields: FieldSpace
    layout: Layout
    path: str | None = None
    offset: int | None = None

    def __post_init__(self) -> None:
        expect("instance", self.memory, str, "the name of a memory")
        expect("instance", self.space, IndexSpace, "an index space")
        expect("instance", self.fields, FieldSpace, "a field space")
        given: Any = self.layout
        if not isinstance(given, Layout):
            object.__setattr__(self, "layout", known_layout(given) if isinstance(given, str) else Layout(given))
        path: object = self.path
        if path is not None and not isinstance(path, str):
            expect("instance", path, Path, "the path of a file, or None")
            object.__setattr__(self, "path", str(path))
        if self.offset is not None:
            object.__setattr__(self, "offset", checks.count("instance", "offset", self.offset, error=TransferError))
        self.linearization  # noqa: B018  raises where the layout does not fit

    @cached_property
    def linearization(self) -> Linearization:
        """Where every (index, field) lies."""
        return self.layout.on(self.space, self.fields)

    def lying_as(self, fields: FieldSpace, layout: Layout) -> Instance:
        """This instance with the fields at the places that `fields` gives them: with gaps between them, or in another order."""
        ours = self.fields
        if (ours.names, ours.starts, ours.nbytes) == (fields.names, fields.starts, fields.nbytes):
            return self
        dtypes = dict(zip(ours.names, ours.dtypes, strict=True))
        found = {name: dtypes.get(name, dtype) for name, dtype in zip(fields.names, fields.dtypes, strict=True)}
        return replace(self, fields=FieldSpace.of(found), layout=layout)

    def __str__(self) -> str:
        return f"{self.memory} {self.layout}"


@dataclass(frozen=True)
class Transfer:
    """Move a box of entries from one instance to another, converting the layout.

    By default everything moves. A part of the data may move as well, such as a halo, a slice or one field. `shape` is the extent
    of the box, in the order of the source's dimensions. `source_origin` and `destination_origin` are the first coordinates of the
    box in each instance, in the order of that instance's dimensions. `field_names` names the fields that move.

    `transfer.to_json()` is `isoviz.planner.transfer_to_json(transfer)`. `Transfer.from_json(data)` makes an equal transfer from
    that object or its text. `Transfer.listed(source, destination, entries=…, to=…)` is the transfer of entries that index arrays
    name (`isoviz.planner.listed_transfer`).

    `lying` are the ends as a run finds them, if the fields of an entry lie at other places than the instances say: with gaps
    between them, or in another order. The first and the last hop read and write there. Everything else follows from the
    instances, so that all ranks have the same chunks and buffers although each rank knows only its own end.

    Raises:
        TransferError: the ends have different dimensions, the box leaves one of them, a field is unknown or has another dtype
            at the other end, or source and destination are the same file.
    """

    source: Instance
    destination: Instance
    shape: tuple[int, ...] = ()
    source_origin: tuple[int, ...] = ()
    destination_origin: tuple[int, ...] = ()
    field_names: tuple[str, ...] = ()
    priority: int = 0
    lying: tuple[Instance, Instance] | None = field(default=None, repr=False)
    space: IndexSpace = field(init=False, repr=False, compare=False)
    """The index space of the moved box, in the order of the source's dimensions."""
    fields: FieldSpace = field(init=False, repr=False, compare=False)
    """The fields that move, in the order of the destination."""
    source_fields: FieldSpace = field(init=False, repr=False, compare=False)
    """The fields that move, in the order of the source."""

    to_json = PublicMethod("isoviz.planner", "transfer_to_json")
    from_json = PublicMethod("isoviz.planner", "transfer_from_json", of_class=True)
    listed = PublicMethod("isoviz.planner", "listed_transfer", of_class=True)

    def __post_init__(self) -> None:
        for given in (self.source, self.destination):
            expect("transfer", given, Instance, "an instance at each end")
        object.__setattr__(self, "priority", checks.priority(self.priority))
        here, there = self.counted
        if set(here.dims) != set(there.dims):
            raise TransferError(f"transfer: the source has dimensions ({', '.join(here)}), the destination ({', '.join(there)})")
        shape = _numbers("shape", self.shape, here, lowest=1)
        origin = _numbers("source origin", self.source_origin, here)
        target = _numbers("destination origin", self.destination_origin, there)
        if not shape:
            starts = dict(zip(here, origin or (0,) * len(here), strict=True))
            shape = tuple(size - starts[dim] for dim, size in here.as_dict().items())
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "source_origin", origin or (0,) * len(here))
        object.__setattr__(self, "destination_origin", target or (0,) * len(there))
        for end, counted, starts_at in (
            ("source", here, self.source_origin),
            ("destination", there, self.destination_origin),
        ):
            _check_box(end, counted, dict(zip(counted, starts_at, strict=True)), dict(zip(here, shape, strict=True)))
        names = self._checked_fields()
        object.__setattr__(self, "field_names", names)
        object.__setattr__(self, "space", here if shape == here.sizes else IndexSpace.of(dict(zip(here, shape, strict=True))))
        fields, source_fields = (_moved(end.fields, names) for end in (self.destination, self.source))
        object.__setattr__(self, "source_fields", source_fields)
        object.__setattr__(self, "fields", source_fields if fields == source_fields else fields)
        if self.source.path is not None and self.source.path == self.destination.path:
            raise TransferError(f"transfer: source and destination are the same file, {self.source.path!r}")

    @overload
    @classmethod
    def whole(
        cls,
        space: IndexSpace,
        fields: FieldSpace,
        source: str,
        source_layout: Layout | str,
        destination: str,
        destination_layout: Layout | str,
        priority: int = 0,
    ) -> Transfer: ...

    @overload
    @classmethod
    def whole(
        cls, space: IndexSpace, fields: FieldSpace, *, source: GivenEnd, destination: GivenEnd, priority: int = 0
    ) -> Transfer: ...

    @classmethod
    def whole(
        cls,
        space: IndexSpace,
        fields: FieldSpace,
        source: str | GivenEnd,
        source_layout: Layout | str | None = None,
        destination: str | GivenEnd | None = None,
        destination_layout: Layout | str | None = None,
        priority: int = 0,
    ) -> Transfer:
        """All of an instance, from one memory and layout to another:

            >>> space, fields = IndexSpace(x=64), FieldSpace(a="float32")
            >>> Transfer.whole(space, fields, source=("node0.dsk", "<F, x>"), destination=("node0.sys", "<x, F>")).nbytes
            256

        With positional arguments it is `Transfer.whole(space, fields, "node0.dsk", "<F, x>", "node0.sys", "<x, F>")`.

        Raises:
            InputError: an end is not a memory with a layout. LayoutError, NotationError: as `Instance`.
        """
        here = _given_end("source", source, source_layout)
        there = _given_end("destination", destination, destination_layout)
        return cls(Instance(here[0], space, fields, here[1]), Instance(there[0], space, fields, there[1]), priority=priority)

    def _checked_fields(self) -> tuple[str, ...]:
        here, there = self.source.fields, self.destination.fields
        names = checks.names("transfer, field names", self.field_names, "names of fields") or there.real_names
        if len(set(names)) != len(names):
            raise TransferError(f"transfer: a field is named twice among {', '.join(names)}")
        here, there = [end.fields for end in self.as_they_lie]
        for name in names:
            for end, fields in (("source", here), ("destination", there)):
                if name not in fields:
                    raise TransferError(f"transfer: field {name!r} is not in the {end} ({', '.join(fields.real_names)})")
            ours, theirs = here.dtypes[here.index(name)], there.dtypes[there.index(name)]
            if ours != theirs:
                raise TransferError(f"transfer: field {name!r} is {ours} in the source and {theirs} in the destination")
        return names

    def __hash__(self) -> int:
        return self._hash

    def __getstate__(self) -> dict[str, Any]:  # hashes of text differ from process to process
        return {name: value for name, value in vars(self).items() if name != "_hash"}

    @cached_property
    def _hash(self) -> int:
        here, there = self.source, self.destination  # without their spaces, which distinguish few transfers
        ends = (here.memory, str(here.layout), there.memory, str(there.layout))
        return hash((ends, self.shape, self.source_origin, self.destination_origin, self.field_names, self.priority))

    @property
    def counted(self) -> tuple[IndexSpace, IndexSpace]:
        """The index spaces in which the shape and the origins count: those of the ends."""
        return self.source.space, self.destination.space

    @property
    def nbytes(self) -> int:
        """Bytes that move."""
        return self.space.volume * self.fields.nbytes

    @cached_property
    def source_order(self) -> Linearization:
        """The order in which the source stores the moved data: its layout on the box, with the fields in its own order."""
        return self._order(self.source, self.source_fields)

    @cached_property
    def destination_order(self) -> Linearization:
        """The order in which the destination stores the moved data: its layout on the box, with the fields in its own order."""
        return self._order(self.destination, self.fields)

    def _order(self, end: Instance, fields: FieldSpace) -> Linearization:
        space = self.space
        if (
            (end.space is space or end.space == space)
            and (end.fields is fields or end.fields == fields)
            and not end.layout.is_blocked
        ):
            return end.linearization  # everything moves, and no digit can be dropped
        return fitted(end.layout, space, fields)

    @property
    def as_they_lie(self) -> tuple[Instance, Instance]:
        """Source and destination with their fields as a run finds them (`lying`)."""
        return self.lying or (self.source, self.destination)

    def require_apart(self) -> None:
        """Require that no byte of the destination is written twice; a kind of transfer may raise TransferError."""

    @property
    def orders(self) -> tuple[Transfer, ...]:
        """The forms of this transfer among which `plan` chooses; of equally good ones it takes the first."""
        return (self,)

    @property
    def members_text(self) -> str:
        """What text says of the transfers in a bundle; "" for other transfers."""
        return ""

    @property
    def ends(self) -> tuple[Instance, ...]:
        """The instances of the transfer: a single one if source and destination are the same."""
        return (self.source,) if self.source == self.destination else (self.source, self.destination)

    @property
    def converts(self) -> bool:
        """Whether the two ends store the moved data in different orders."""
        return not self.source_order.same_as(self.destination_order)

    def part(self, box: Box) -> Transfer:
        """A sub-box of this transfer, in coordinates local to it, as a transfer between the same instances.

        Raises:
            TransferError: the box is empty, has other dimensions, or is not within this transfer.
        """
        expect("transfer, part", box, Box, "a box")
        if box == Box.whole(self.space):
            return self
        ends = zip(box.lo, box.hi, self.space.sizes, strict=False)
        if len(box.lo) != len(self.space) or not all(low < high <= size for low, high, size in ends):
            raise TransferError(f"transfer: {box}: expected a box that is not empty, within {self.space}")
        low = dict(zip(self.space, box.lo, strict=True))
        source = [at + low[dim] for dim, at in zip(self.source.space, self.source_origin, strict=True)]
        destination = [at + low[dim] for dim, at in zip(self.destination.space, self.destination_origin, strict=True)]
        return replace(self, shape=box.shape, source_origin=tuple(source), destination_origin=tuple(destination))

    @property
    def further_json(self) -> dict[str, Any]:
        """Members that a kind of transfer adds to its JSON form. A reader that does not know them refuses the transfer."""
        return {}

    def source_view(self) -> View:
        """The source as one end of a copy; local index 0 is the origin of the box."""
        return View(self.as_they_lie[0].linearization, self.source_origin)

    def destination_view(self) -> View:
        """The destination as one end of a copy."""
        return View(self.as_they_lie[1].linearization, self.destination_origin)

    def mean_run(self, here: View, there: View, fields: Sequence[str]) -> float:
        """The bytes that move on average between two gaps, from one view of the moved data to another (`geometry.mean_run`)."""
        shape = dict(zip(self.source.space, self.shape, strict=True))
        return mean_run(here, there, tuple([shape[dim] for dim in here.dims]), tuple(fields))

    def keyed(self, here: View, there: View, fields: Sequence[str], limit: int) -> Keyed:
        """What keys of at most `limit` runs map, from one view of the moved data to another (`windows.keyed`)."""
        shape = dict(zip(self.source.space, self.shape, strict=True))
        return keyed(here, there, tuple([shape[dim] for dim in here.dims]), tuple(fields), limit)

    def recurring(
        self,
        chunks: ChunkSequence,
        views: Callable[[int], tuple[View, View]],
        chunk: Callable[[int], Chunk] | None = None,
        padding: Sequence[int] = (),
    ) -> RecurringChunks:
        """The copies of a hop of a path, chunk by chunk."""
        return RecurringChunks(chunks, views, chunk, padding)

    @property
    def copies(self) -> list[StridedCopy]:
        """The copies of all that moves, from the source to the destination."""
        box = Box((0,) * len(self.shape), self.shape)
        return strided_copies(self.source_view(), self.destination_view(), box, self.field_names)

    @property
    def is_whole(self) -> bool:
        """Whether all data of both ends move."""
        here = self.source  # if all of it moves, the transfer has its spaces
        return here.space is self.space and here.fields is self.fields and not self.is_partial

    @property
    def is_partial(self) -> bool:
        """Whether the destination holds more data than this transfer writes."""
        there, space, fields = self.destination, self.space, self.fields
        return (there.space is not space and there.space.volume != space.volume) or (
            there.fields is not fields and len(there.fields) != len(fields)
        )

    def __str__(self) -> str:
        return f"{self.source} → {self.destination} ({self.space}; {self.fields})"


def _given_end(end: str, memory: object, layout: object) -> tuple[str, Layout]:
    """The memory and the layout of an end, given as a pair or one by one. An instance makes a text a layout."""
    if isinstance(memory, tuple | list) and len(memory) == 2 and layout is None:
        memory, layout = memory
    if not isinstance(memory, str) or layout is None or isinstance(layout, tuple | list):
        given = memory if layout is None else (memory, layout)
        raise InputError(f"transfer, {end}: expected a memory and a layout, as {end}=('node0.sys', '<F, x>'), got {show(given)}")
    return memory, layout  # type: ignore[return-value]  # checked by the instance


def _moved(fields: FieldSpace, names: tuple[str, ...]) -> FieldSpace:
    """Those of the fields of an end that move, in its order."""
    return fields if len(names) == len(fields) else fields.subset(tuple([name for name in fields.names if name in names]))


def _numbers(what: str, given: Sequence[int] | Mapping[str, int], space: IndexSpace, lowest: int = 0) -> tuple[int, ...]:
    if isinstance(given, Mapping):
        if set(given) != set(space.dims):
            raise TransferError(f"transfer: {what} {dict(given)}: expected numbers for ({', '.join(space)})")
        given = tuple(given[dim] for dim in space)
    values: tuple[Any, ...] = checks.items(f"transfer, {what}", given, "whole numbers")
    if values and len(values) != len(space):
        raise TransferError(f"transfer: {what}: expected {len(space)} numbers for ({', '.join(space)}), got {len(values)}")
    return tuple([checks.count("transfer", what, value, low=lowest, error=TransferError) for value in values])


def _check_box(end: str, space: IndexSpace, origin: Mapping[str, int], shape: Mapping[str, int]) -> None:
    for dim in space:
        last = origin[dim] + shape[dim]
        if shape[dim] < 1 or last > space[dim]:
            raise TransferError(
                f"transfer: in dimension {dim!r} the box is {origin[dim]} to {last}, the {end} has 0 to {space[dim]}"
            )


# Checks of the arguments of planning calls, and that the ends of a transfer can lie where the transfer says.


def check_arguments(call: str, transfer: object, machine: MachineLike) -> Machine:
    """Check that a call got a transfer and a machine; returns the machine.

    Raises:
        InputError: it got something else. As `machine_argument`.
    """
    expect(call, transfer, Transfer, "a transfer")
    return machine_argument(call, machine)


def check_ends(transfer: Transfer, machine: Machine) -> None:
    """Check that the instances fit their memories, and that only file systems hold files.

    An end that names a file may lie on any file system, so it does not count against the capacity of its memory. The backend that
    opens the file checks the free space.

    Raises:
        MachineError: an unknown memory.
        TransferError: an instance is larger than its memory, or names a file in a memory that is not a file system.
    """
    for end, instance in (("source", transfer.source), ("destination", transfer.destination)):
        memory = machine.memory(instance.memory)
        if instance.path is None:
            _check_room(f"the {end} needs", instance.linearization.nbytes, memory)
        elif not memory.is_file_system:
            raise TransferError(
                f"transfer: the {end} names the file {instance.path!r}, but {memory.name} is no file system ({memory.kind})"
            )
    if transfer.source.memory == transfer.destination.memory:
        unnamed = [end for end in dict.fromkeys(transfer.ends) if end.path is None]
        need = sum(end.linearization.nbytes for end in unnamed)
        _check_room("both ends need", need, machine.memory(transfer.source.memory))


def _check_room(who_needs: str, need: int, memory: Memory) -> None:
    if memory.capacity is not None and need > memory.capacity:
        raise TransferError(f"transfer: {who_needs} {format_bytes(need)}, {memory.name} has {format_bytes(memory.capacity)}")
