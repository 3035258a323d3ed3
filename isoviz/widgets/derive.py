"""What follows from settings: spaces, linearizations, machine, plan and pictures, or what is wrong and at which control.

`derive` is a generator, quickest first: what it has yielded can be shown while the rest is still being computed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError, IsovizError, LimitError, NoPathError
from isoviz.forks import Lock, in_child
from isoviz.units import format_bytes, parse_bytes
from isoviz.widgets.settings import Row, Settings
from isoviz.widgets.state import Derived, Problem, State

if TYPE_CHECKING:
    from isoviz.layouts import FieldSpace, IndexSpace, Layout, Linearization
    from isoviz.machines import Machine
    from isoviz.planner import Options

SIDES = ("source", "destination")
LOCAL = "local"
PLOT_WIDTH = 620
"""CSS pixels of a linearization plot at natural size: what fits beside the controls in a cell of usual width."""

_machines: dict[tuple[str, tuple[tuple[str, str], ...]], Future[Machine]] = {}
_machines_lock = Lock()
in_child(_machines.clear)  # those in the making would never be made there


def derive(before: Derived) -> Iterator[Derived]:
    """`before.settings` are new, the rest of `before` is what was derived last; yields better and better successors."""
    settings = before.settings
    problems: dict[str, Problem] = {}
    now = replace(before, problems=problems, stale=frozenset(), not_runnable="", offer_local=False, corrections={})
    space = _space(settings, problems)
    fields = _fields(settings, problems)
    stale: set[str] = set()
    ends: dict[str, Any] = {}
    for side in SIDES:
        linear = _linearization(settings, side, space, fields, problems)
        if linear is None:
            stale |= {side, "plan"}
        else:
            ends[side] = linear
    now = replace(now, **ends)
    now = replace(now, pictures=_plots(now, before))
    now = replace(now, problems=dict(problems), stale=frozenset(stale))
    yield replace(now, step="Measuring this computer" if _is_slow(settings) else "Planning")

    machine = _machine(settings, problems)
    if machine is not None:
        now = replace(now, machine=machine, corrections=_corrections(before.machine, machine, settings))
        if now.corrections:
            yield replace(now, step="")
            return
    planned = _planned(now, space, fields, problems) if machine is not None and "plan" not in stale else None
    if planned is None:
        stale.add("plan")
        yield replace(now, problems=dict(problems), stale=frozenset(stale), step="")
        return
    now = replace(planned, problems=dict(problems), stale=frozenset(stale), step="")
    yield replace(now, **_where_it_runs(now), pictures=_plan_pictures(now))


# ---- spaces and layouts


def _space(settings: Settings, problems: dict[str, Problem]) -> IndexSpace | None:
    from isoviz.layouts import IndexSpace

    def check(row: Row) -> int:
        text = row.value.strip()
        if not re.fullmatch("[0-9]{1,19}", text):
            found = f"{row.value.strip()!r} is not a size" if row.value.strip() else "the size is missing"
            raise InputError(f"{found}; expected a whole number of at least 1")
        size = int(text)
        IndexSpace.of({row.name: size})
        return size

    sizes = _rows(settings.dimensions, "dimension", check, problems)
    return None if sizes is None else _caught(lambda: IndexSpace.of(sizes), "dimensions", problems)


def _fields(settings: Settings, problems: dict[str, Problem]) -> FieldSpace | None:
    from isoviz.layouts import FieldSpace

    def check(row: Row) -> str:
        FieldSpace.of({row.name: row.value.strip() or None})
        return row.value.strip()

    dtypes = _rows(settings.fields, "field", check, problems)
    return None if dtypes is None else _caught(lambda: FieldSpace.of(dtypes), "fields", problems)


def _rows(found: tuple[Row, ...], what: str, check: Callable[[Row], Any], problems: dict[str, Problem]) -> dict[str, Any] | None:
    values: dict[str, Any] = {}
    good = True
    for row in found:
        if row.name in values:
            problems[f"{what}:{row.key}"] = Problem(f"Two are called {row.name!r}; give this {what} another name")
            good = False
            continue
        value = _caught(lambda row=row: check(row), f"{what}:{row.key}", problems)  # type: ignore[misc]
        good = good and value is not None
        values[row.name] = value
    return values if good else None


def _linearization(
    settings: Settings, side: str, space: IndexSpace | None, fields: FieldSpace | None, problems: dict[str, Problem]
) -> Linearization | None:
    from isoviz.layouts import Layout

    layout = _caught(lambda: Layout(settings.end(side).layout), f"{side}-layout", problems)
    if layout is None or not _has_dimensions(layout, settings, side, problems) or space is None or fields is None:
        return None
    found: Linearization | None = _caught(lambda: layout.on(space, fields), f"{side}-layout", problems)
    return found


def _has_dimensions(layout: Layout, settings: Settings, side: str, problems: dict[str, Problem]) -> bool:
    """Whether the layout has just the dimensions that there are; looked at even while their sizes are wrong."""
    names = [row.in_layouts for row in settings.dimensions]
    text = settings.end(side).layout
    for dim in layout.dims:
        if dim not in names:
            found = re.search(rf"(?<![\w]){re.escape(dim)}(?=$|\W|_(in|out|\d+)(?!\w))", text)
            position = None if found is None else found.start()
            problems[f"{side}-layout"] = Problem(f"{dim!r} is not a dimension; expected {_listed(names)}", text, position)
            return False
    for name in names:
        if name not in layout.dims:
            problems[f"{side}-layout"] = Problem(f"Dimension {name!r} is missing", text, len(text.rstrip().rstrip(">⟩")))
            return False
    return True


def _listed(names: list[str]) -> str:
    """`x`, `x or y`, `x, y or z`."""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _caught(action: Callable[[], Any], control: str, problems: dict[str, Problem]) -> Any:
    """The result, or None with the error noted at the control that caused it."""
    try:
        return action()
    except IsovizError as error:
        problems[control] = Problem.of(error)
        return None


def common_axes(derived: Derived) -> tuple[str, ...] | None:
    """The dimensions that both plots draw to the right and down, so that they can be compared: those that suit the source."""
    from isoviz.figures import default_axes

    linear = derived.source or derived.destination
    return None if linear is None else tuple(default_axes(linear))


def _plots(now: Derived, before: Derived) -> dict[str, str]:
    """The pictures, with the plots drawn again that changed."""
    from isoviz.figures import linearization_svg

    axes = common_axes(now)
    turned = axes != common_axes(before)
    pictures = dict(now.pictures)
    for side in SIDES:
        linear = getattr(now, side)
        if linear is None or (side in pictures and linear == getattr(before, side) and not turned):
            continue
        fits = axes if axes is not None and set(axes) <= set(linear.space.dims) else None
        pictures[side] = linearization_svg(linear, axes=fits, caption=False, width=PLOT_WIDTH)
    return pictures


# ---- machine and plan


def _key(settings: Settings) -> tuple[str, tuple[tuple[str, str], ...]]:
    return settings.machine, tuple(sorted(settings.machine_options))


def _is_slow(settings: Settings) -> bool:
    """Whether the machine has yet to be measured."""
    with _machines_lock:
        found = _machines.get(_key(settings))
    return settings.machine == LOCAL and (found is None or not found.done())


def _machine(settings: Settings, problems: dict[str, Problem]) -> Machine | None:
    """The machine of the settings; made once, whoever asks while it is in the making waits for the same one."""
    from isoviz.machines import preset

    options = _machine_options(settings, problems)
    if options is None:
        return None
    with _machines_lock:
        mine = _key(settings) not in _machines
        future = _machines.setdefault(_key(settings), Future())
    if mine:
        try:
            future.set_result(preset(settings.machine, **options))
        except Exception as error:  # noqa: BLE001 - whoever waits for the same machine has to hear of it too
            with _machines_lock:
                del _machines[_key(settings)]
            future.set_exception(error)
    try:
        return future.result()
    except IsovizError as error:
        named = [name for name, _ in settings.machine_options if f", {name}: " in str(error)]
        problems[f"machine-option:{named[0]}" if named else "machine"] = Problem.of(error)
        return None


def _machine_options(settings: Settings, problems: dict[str, Problem]) -> dict[str, Any] | None:
    """The options of the preset as it takes them: numbers where its defaults are numbers; left empty, they are the defaults."""
    from isoviz.machines import presets

    known = presets().get(settings.machine)
    options: dict[str, Any] = {}
    for name, text in settings.machine_options:
        if not text.strip():
            continue
        default = known.options[name].default if known is not None and name in known.options else None
        if isinstance(default, int) and not re.fullmatch("[0-9]{1,9}", text.strip()):
            problems[f"machine-option:{name}"] = Problem(f"{text!r} cannot be; expected a whole number such as {default}")
            return None
        options[name] = int(text) if isinstance(default, int) else text.strip()
    return options


def _corrections(old: Machine | None, new: Machine, settings: Settings) -> dict[str, str]:
    """Memories to choose instead of those that another machine does not have."""
    if old is None or old.name == new.name:
        return {}
    found = {}
    for side in SIDES:
        name = settings.end(side).memory
        if name not in {memory.name for memory in new.memories}:
            found[f"{side}-memory"] = nearest_memory(name, old, new)
    return found


def nearest_memory(name: str, old: Machine | None, new: Machine) -> str:
    """The memory of `new` that is most like a memory of `old`: of the same kind, else host memory, else the first."""
    kinds = {memory.name: memory.kind for memory in (old.memories if old is not None else ())}
    for kind in (kinds.get(name), "SYS"):
        for memory in new.memories:
            if kind is not None and str(memory.kind) == str(kind):
                return memory.name
    return new.memories[0].name


def _planned(now: Derived, space: IndexSpace | None, fields: FieldSpace | None, problems: dict[str, Problem]) -> Derived | None:
    from isoviz.layouts import Layout
    from isoviz.planner import Transfer, plan

    settings, machine = now.settings, now.machine
    assert machine is not None and space is not None and fields is not None
    for side in SIDES:
        _caught(lambda side=side: machine.memory(settings.end(side).memory), f"{side}-memory", problems)  # type: ignore[misc]
    options = _options(settings, problems)
    if problems:
        return None
    transfer = _caught(
        lambda: Transfer.whole(
            space, fields,
            settings.source.memory, Layout(settings.source.layout),
            settings.destination.memory, Layout(settings.destination.layout),
        ),
        "transfer", problems,
    )  # fmt: skip
    if transfer is None or options is None:
        return None
    try:
        found = plan(transfer, machine, options=options)
    except LimitError as error:
        control = "memory-limit" if settings.memory_limit.strip() else "slot-limit"
        problems[control if settings.memory_limit.strip() or settings.slot_limit.strip() else "transfer"] = Problem.of(error)
        return None
    except NoPathError as error:
        problems["destination-memory"] = Problem.of(error)
        return None
    except IsovizError as error:
        problems["transfer"] = Problem.of(error)
        return None
    return replace(now, transfer=transfer, plan=found)


def _options(settings: Settings, problems: dict[str, Problem]) -> Options | None:
    from isoviz.planner import Options

    def size(text: str) -> int | None:
        found = parse_bytes(text) if text.strip() else None
        if found == 0:
            raise InputError("expected at least one byte, such as 32 MiB")
        return found

    planner = _caught(lambda: Options(planner=settings.planner), "planner", problems)
    slot = _caught(lambda: Options(slot_limit=size(settings.slot_limit)), "slot-limit", problems)
    memory = _caught(lambda: Options(memory_limit=size(settings.memory_limit)), "memory-limit", problems)
    return None if problems else Options(planner.planner, slot.slot_limit, memory.memory_limit)


def _plan_pictures(now: Derived) -> Mapping[str, str]:
    from isoviz.figures import channels_of, operating_points, path_svg, throughput_svg

    assert now.machine is not None and now.plan is not None
    channels = channels_of(now.machine, now.plan)
    return {
        **now.pictures,
        "path": path_svg(now.machine, now.plan),
        "throughput": throughput_svg(channels, operating_points(now.plan)),
    }


# ---- where it runs


def _where_it_runs(now: Derived) -> dict[str, Any]:
    """Whether this computer can carry the plan out: `not_runnable` says in words why it cannot."""
    settings = now.settings
    if settings.machine != LOCAL:
        return {
            "not_runnable": f"{settings.machine} describes another computer: isoviz can plan on it, but not run there from here.",
            "offer_local": True,
        }
    needed = sum(
        linear.nbytes
        for side, linear in (("source", now.source), ("destination", now.destination))
        if linear is not None and not settings.end(side).memory.endswith(".dsk")
    )
    room = available_memory()
    if room is not None and needed > room // 2:
        return {
            "not_runnable": f"A run would take {format_bytes(needed)} of memory; it may take half of the {format_bytes(room)} "
            "that are free. Choose smaller sizes.",
        }
    return {}


def reason_not_to_run(state: State) -> str:
    """Why *Run* does nothing, in words; "" where it runs."""
    derived = state.derived
    if derived.problems.keys() - {"transfer"}:
        return "Correct the marked controls first: there is no plan to run."
    if derived.plan is None or "plan" in derived.stale:
        return "There is no plan to run."
    return derived.not_runnable


def available_memory() -> int | None:
    """Bytes of main memory that programs can still have; None where the system does not tell."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def local_settings(settings: Settings, machine: Machine | None) -> Settings:
    """The same transfer on this computer: files stay files, every other memory becomes main memory."""
    kinds = {memory.name: str(memory.kind) for memory in (machine.memories if machine is not None else ())}

    def here(name: str) -> str:
        return "node0.dsk" if kinds.get(name) == "DSK" else "node0.sys"

    return replace(
        settings,
        machine=LOCAL,
        machine_options=(),
        source=replace(settings.source, memory=here(settings.source.memory)),
        destination=replace(settings.destination, memory=here(settings.destination.memory)),
    )
