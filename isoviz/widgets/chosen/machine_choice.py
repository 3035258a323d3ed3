"""Which machine was chosen: a preset with options, this computer as measured, a machine file, or a machine that was drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypedDict

from isoviz.errors import MachineError
from isoviz.schema import MismatchError, Named

if TYPE_CHECKING:
    from isoviz.machines import Machine


LOCAL = "local"
"""The preset that describes this computer."""

Kind = Literal["preset", "measured", "file", "drawn"]


@dataclass(frozen=True)
class PresetMachine:
    """A preset (`isoviz.machines.presets()`) with its options as they were typed.

    The preset "local" is this computer, as measured.
    """

    name: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def is_this_computer(self) -> bool:
        """Whether it is the measured computer on which the kernel runs."""
        return self.name == LOCAL

    @property
    def kind(self) -> Kind:
        """The kind of this choice."""
        return "measured" if self.is_this_computer else "preset"

    def with_option(self, name: str, text: str) -> PresetMachine:
        """The same preset with one option changed."""
        return replace(self, options=tuple((dict(self.options) | {name: text}).items()))

    def key(self) -> tuple[object, ...]:
        """A value that is equal for choices of the same machine, in any order of the options."""
        return self.name, tuple(sorted(self.options))


THIS_COMPUTER = PresetMachine(LOCAL)
"""What was measured of the computer that the kernel runs on."""


@dataclass(frozen=True)
class DescribedMachine:
    """A machine that was made in Python, or drawn."""

    machine: Machine

    @property
    def kind(self) -> Kind:
        """The kind of this choice."""
        return "drawn"

    @property
    def path(self) -> str:
        """The file that it was read from; "" if there is none."""
        return ""

    @property
    def name(self) -> str:
        """The name of the machine."""
        return self.machine.name


@dataclass(frozen=True)
class FileMachine(DescribedMachine):
    """A machine that was read from a file, with the path or the name of the file. Later changes of the file have no effect."""

    file: str = ""

    @property
    def kind(self) -> Kind:
        """The kind of this choice."""
        return "file"

    @property
    def path(self) -> str:
        """The path or the name of the file."""
        return self.file


MachineChoice = PresetMachine | DescribedMachine
"""The machine of the explorer. Settings, sessions, their files and the cache of machines carry this value and nothing else."""


class ShownMachineChoice(TypedDict):
    """The machine that was chosen.

    `kind` is "preset" (with its options as typed), "measured" (this computer, with its options as typed), "file" (read from
    `path`) or "drawn" (described in Python or drawn by hand).
    """

    kind: Kind
    name: str
    options: Named[str]
    path: str


class _KeptPreset(TypedDict):
    kind: Literal["preset"]
    name: str
    options: dict[str, str]


class _KeptMeasured(TypedDict):
    kind: Literal["measured"]
    options: dict[str, str]


class _KeptFile(TypedDict):
    kind: Literal["file"]
    path: str
    machine: dict[str, object]


class _KeptDrawn(TypedDict):
    kind: Literal["drawn"]
    machine: dict[str, object]


KeptMachine = _KeptPreset | _KeptMeasured | _KeptFile | _KeptDrawn
"""The chosen machine in a session file; `machine` is in the format of machine files."""


def shown_machine(choice: MachineChoice) -> ShownMachineChoice:
    """The chosen machine as the browser gets it."""
    options = list(choice.options) if isinstance(choice, PresetMachine) else []
    path = "" if isinstance(choice, PresetMachine) else choice.path
    return {"kind": choice.kind, "name": choice.name, "options": options, "path": path}


def kept_machine(choice: MachineChoice) -> KeptMachine:
    """The chosen machine for a session file."""
    from isoviz.machines import machine_to_json

    if isinstance(choice, PresetMachine):
        options = dict(choice.options)
        if choice.is_this_computer:
            return {"kind": "measured", "options": options}
        return {"kind": "preset", "name": choice.name, "options": options}
    if isinstance(choice, FileMachine):
        return {"kind": "file", "path": choice.path, "machine": machine_to_json(choice.machine)}
    return {"kind": "drawn", "machine": machine_to_json(choice.machine)}


def machine_of_file(kept: KeptMachine) -> MachineChoice:
    """The choice that `kept_machine` wrote.

    Raises:
        MismatchError: it holds no machine.
    """
    from isoviz.machines import machine_from_json

    if kept["kind"] == "preset":
        return PresetMachine(kept["name"], tuple(kept["options"].items()))
    if kept["kind"] == "measured":
        return PresetMachine(LOCAL, tuple(kept["options"].items()))
    try:
        machine = machine_from_json(kept["machine"])
    except MachineError as error:
        raise MismatchError("machine", str(error)) from None
    return FileMachine(machine, kept["path"]) if kept["kind"] == "file" else DescribedMachine(machine)


def drawn_machine(choice: MachineChoice, before: Machine, after: Machine) -> Machine:
    """The machine `after` as a drawn one: that of a preset gets a name of its own. It is no longer what was measured, unless
    memories only moved on the drawing, into boxes or out of them.
    """
    name = after.name
    if isinstance(choice, PresetMachine) and name == before.name:
        name = f"{name} (edited)"
    only_moved = after.undrawn == before.undrawn
    return replace(after, name=name, measurement=after.measurement if only_moved else None)


def machine_choice(machine: object) -> MachineChoice:
    """The choice that a caller means by the name of a preset, by a machine, by the path of a machine file, or by a choice.

    Raises:
        InputError: it is none of these.
        FileError, MachineError: the file cannot be read, or does not describe a machine.
    """
    from isoviz.machines import Machine, load
    from isoviz.machines.machine_file import machine_path

    if isinstance(machine, PresetMachine | DescribedMachine):
        return machine
    if isinstance(machine, Machine):
        return DescribedMachine(machine)
    path = machine_path("machine", machine)
    return PresetMachine(str(machine)) if path is None else FileMachine(load(path), path)
