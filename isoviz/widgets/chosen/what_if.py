"""What is tried on a plan, "what if": frozen values, and the settings in which it holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoviz.errors import InputError
from isoviz.units import format_bytes, parse_bytes
from isoviz.widgets.chosen.machine_choice import DescribedMachine

if TYPE_CHECKING:
    from isoviz.machines import Machine
    from isoviz.widgets.chosen.settings import Settings


@dataclass(frozen=True)
class WhatIf:
    """Changes that are tried on the present plan: bandwidths by channel (the peak, in bytes per second; the whole throughput
    function is scaled), the slot limit in bytes (None: as it is), and sizes by dimension.

    While `moving`, a slider is still being dragged: the answer may come from the candidates alone.
    """

    bandwidths: tuple[tuple[str, float], ...] = ()
    slot_limit: int | None = None
    sizes: tuple[tuple[str, int], ...] = ()
    moving: bool = False

    @property
    def changes_nothing(self) -> bool:
        """Whether nothing is changed."""
        return not self.bandwidths and self.slot_limit is None and not self.sizes


NOTHING = WhatIf()


def changed_machine(machine: Machine, question: WhatIf) -> Machine:
    """The machine with other bandwidths.

    Raises:
        MachineError: there is no such channel. InputError: a bandwidth that is none, or a function that cannot be scaled.
    """
    from isoviz.planner.explanation.rivals import with_bandwidths

    factors = {}
    for name, peak in question.bandwidths:
        channel = machine.channel(name)
        if not 0 < peak < float("inf"):
            raise InputError(f"bandwidth of {name}: expected a number above 0, got {peak:g}")
        factors[name] = peak / channel.peak
    return with_bandwidths(machine, factors) if factors else machine


def kept(settings: Settings, question: WhatIf, machine: Machine) -> Settings:
    """The settings in which the changes of a question hold. A machine with other bandwidths is one that was drawn.

    Raises:
        MachineError, InputError: as `changed_machine`.
    """
    if question.bandwidths:
        settings = replace(settings, machine=DescribedMachine(changed_machine(machine, question)))
    if question.slot_limit is not None:
        settings = replace(settings, slot_limit=size_text(question.slot_limit))
    sizes = dict(question.sizes)
    rows = tuple(
        replace(row, value=str(sizes[row.in_layouts])) if row.in_layouts in sizes else row for row in settings.dimensions
    )
    return replace(settings, dimensions=rows)


def size_text(count: int) -> str:
    """A size as people write it where that says it exactly, else in bytes."""
    text = format_bytes(count)
    try:
        return text if parse_bytes(text) == count else str(count)
    except InputError:
        return str(count)
