"""What is tried on a plan, "what if": frozen values, and the settings in which it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

from isoviz.errors import InputError
from isoviz.schema import Named
from isoviz.units import format_bytes, parse_bytes
from isoviz.widgets.chosen.machine_choice import DescribedMachine, drawn_machine
from isoviz.widgets.chosen.settings import Part

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.planner import Options, Transfer
    from isoviz.widgets.chosen.settings import Settings


class ShownWhatIf(TypedDict):
    """What is tried on the present plan: the peak of channels in bytes per second by name, the slot limit in bytes (null: as it
    is), sizes by dimension, how often the transfer starts (null: as it does), and what there is of held resources by name.
    """

    bandwidths: Named[float]
    slotLimit: int | None
    sizes: Named[int]
    reuse: int | None
    capacities: Named[float]


@dataclass(frozen=True)
class WhatIf:
    """Changes that are tried on the present plan: bandwidths by channel (the peak, in bytes per second; the whole throughput
    function is scaled), the slot limit in bytes (None: as it is), sizes by dimension, how often the transfer starts (None: as
    it does), and what there is of held resources (`Resource.capacity`), by name.

    While `moving`, a slider is still being dragged: the answer may come from the candidates alone.
    """

    bandwidths: tuple[tuple[str, float], ...] = ()
    slot_limit: int | None = None
    sizes: tuple[tuple[str, int], ...] = ()
    reuse: int | None = None
    capacities: tuple[tuple[str, float], ...] = ()
    moving: bool = False

    @property
    def changes_nothing(self) -> bool:
        """Whether nothing is changed."""
        return self == WhatIf(moving=self.moving)

    def options(self, options: Options) -> Options:
        """The options with those that are tried.

        Raises:
            InputError: one that cannot be.
        """
        slot_limit = options.slot_limit if self.slot_limit is None else self.slot_limit
        return replace(options, slot_limit=slot_limit, reuse=options.reuse if self.reuse is None else self.reuse)


NOTHING = WhatIf()


def changed_machine(machine: Machine, question: WhatIf) -> Machine:
    """The machine with other bandwidths and other held resources.

    Raises:
        MachineError: there is no such channel or resource, or a capacity is invalid. InputError: a bandwidth is invalid, a
            function cannot be scaled, or a resource is not held.
    """
    from isoviz.machines.edits.memory_edits import changed_resource
    from isoviz.planner.explanation.rivals import with_bandwidths

    factors = {}
    for name, peak in question.bandwidths:
        channel = machine.channel(name)
        if not 0 < peak < float("inf"):
            raise InputError(f"bandwidth of {name}: expected a number above 0, got {peak:g}")
        factors[name] = peak / channel.peak
    for name, capacity in question.capacities:
        if not machine.resource(name).held:
            raise InputError(f"what if: the resource {name} is not held; expected one that channels hold while they work")
        machine = changed_resource(machine, name, capacity=capacity)
    return with_bandwidths(machine, factors) if factors else machine


def kept(settings: Settings, question: WhatIf, machine: Machine, transfer: Transfer | None) -> Settings:
    """The settings in which the changes of a question to a `transfer` hold. A machine that is another one is a drawn one.

    Raises:
        MachineError, InputError: as `changed_machine`; a slot limit or a number of starts that cannot be, or sizes where there is
            no transfer.
    """
    from isoviz.planner import Options

    if question.bandwidths or question.capacities:
        after = drawn_machine(settings.machine, machine, changed_machine(machine, question))
        settings = replace(settings, machine=DescribedMachine(after))
    options = question.options(Options())
    if options.slot_limit is not None:
        settings = replace(settings, slot_limit=size_text(options.slot_limit))
    if options.reuse is not None:
        settings = replace(settings, reuse=str(options.reuse))
    if not question.sizes:
        return settings
    if transfer is None:
        raise InputError("what if: there is no transfer yet to change")
    return _with_sizes(settings, dict(question.sizes), transfer)


def _with_sizes(settings: Settings, sizes: dict[str, int], transfer: Transfer) -> Settings:
    """The settings with other sizes of what moves. Where a part moves, the array grows or shrinks by the same amount."""
    rows, ranges = [], list(settings.part.ranges)
    for row in settings.dimensions:
        size = sizes.get(row.in_layouts)
        if size is not None and row.in_layouts in transfer.space:
            whole = transfer.source.space[row.in_layouts] + size - transfer.space[row.in_layouts]
            ranges = [replace(each, extent=str(size)) if each.row == row.key and each.extent.strip() else each for each in ranges]
            row = replace(row, value=str(whole))
        rows.append(row)
    return replace(settings, dimensions=tuple(rows), part=Part.of(ranges, settings.part.left_out))


def size_text(count: int) -> str:
    """A size as people write it where that says it exactly, else in bytes."""
    text = format_bytes(count)
    try:
        return text if parse_bytes(text) == count else str(count)
    except InputError:
        return str(count)
