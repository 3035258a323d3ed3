"""The state as the browser gets it: plain JSON, every number already in words. `widgets/src/types.ts` is its other half."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from isoviz.units import format_bytes, format_rate, format_seconds
from isoviz.widgets.derive import SIDES, reason_not_to_run
from isoviz.widgets.examples import EXAMPLES
from isoviz.widgets.state import Derived, Problem, Run, State, sentence

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.planner import Plan
    from isoviz.runtime import Report

DTYPES = (
    "float32", "float64", "float16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "complex64", "complex128", "bool", "S8", "datetime64[ns]",
)  # fmt: skip

_KINDS = {
    "SYS": "main memory", "REG": "registered memory", "ZCM": "pinned memory", "FBM": "GPU memory", "DSK": "files",
}  # fmt: skip


def snapshot(state: State, revision: int) -> dict[str, Any]:
    """The state as one JSON object."""
    derived = state.derived
    return {
        "revision": revision,
        "acknowledged": dict(state.acknowledged),
        "settled": state.settled,
        "step": derived.step,
        "status": status(state),
        "notice": state.notice,
        "defect": state.defect,
        "settings": state.settings.to_json(),
        "choices": _choices(derived),
        "problems": {name: _problem(problem) for name, problem in derived.problems.items()},
        "stale": sorted(derived.stale),
        "palette": _palette(tuple(row.name for row in state.settings.dimensions)),
        "ends": {side: _end(getattr(derived, side)) for side in SIDES},
        "plan": None if derived.plan is None else _plan(derived.plan),
        "run": _run(state),
        "report": None if state.run.report is None else _report(state.run, state.run.report),
        "history": [_past_run(run) for run in state.history],
    }


def pictures(state: State) -> dict[str, str]:
    """The pictures by name, as SVG."""
    return dict(state.derived.pictures)


def status(state: State) -> str:
    """What there is to say about the state, in one line."""
    derived = state.derived
    if not state.settled:
        return f"{derived.step or 'Planning'}…"
    if derived.problems:
        count = len(derived.problems.keys() - {"transfer"})
        if count == 0:
            return "This transfer cannot be planned."
        return f"{'One thing' if count == 1 else f'{count} things'} to correct before there is a plan; see the marked controls."
    if state.run.phase == "running":
        return f"Run {state.run.number} is under way."
    if state.run.phase == "cancelling":
        return f"Run {state.run.number} is being cancelled."
    if derived.plan is not None:
        plan = derived.plan
        return (
            f"{len(plan.hops)} hop{'s'[: len(plan.hops) != 1]} from {plan.hops[0].source} to {plan.hops[-1].destination}, "
            f"{plan.chunk_count:,} chunk{'s'[: plan.chunk_count != 1]} of {format_bytes(plan.chunk_bytes)}, planned for "
            f"{plan.machine_name} by {plan.planner}."
        )
    return ""


# ---- what can be chosen


def _choices(derived: Derived) -> dict[str, Any]:
    memories = [] if derived.machine is None else [
        {
            "name": memory.name,
            "title": memory.name,
            "about": _KINDS.get(str(memory.kind), str(memory.kind)) + (", emulated" if memory.emulated else ""),
        }
        for memory in derived.machine.memories
    ]  # fmt: skip
    return {**_fixed_choices(), "memories": memories}


@lru_cache(maxsize=1)
def _fixed_choices() -> dict[str, Any]:
    from isoviz.machines import presets
    from isoviz.planner import PLANNERS

    return {
        "machines": [
            {
                "name": name,
                "title": name,
                "about": info.description,
                "options": [_option(option_name, option) for option_name, option in info.options.items()],
            }
            for name, info in presets().items()
        ],
        "dtypes": list(DTYPES),
        "planners": [{"name": name, "title": name, "about": text} for name, text in PLANNERS.items()],
        "examples": [{"name": name, "title": example.title, "about": ""} for name, example in EXAMPLES.items()],
    }


def _option(name: str, option: Any) -> dict[str, Any]:
    number = isinstance(option.default, int) and not isinstance(option.default, bool)
    return {
        "name": name,
        "value": "" if option.default is None else str(option.default),
        "title": option.description,
        "kind": "choice" if option.choices else "number" if number else "text",
        "choices": list(option.choices),
    }


def _problem(problem: Problem) -> dict[str, Any]:
    return {"message": problem.message, "text": problem.text, "position": problem.position}


@lru_cache(maxsize=64)
def _palette(dims: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """The colours that the pictures give the dimensions and F."""
    from isoviz.figures import FIELD_COLOUR, colour, dimension_tokens

    tokens = dimension_tokens(dims) | {"F": FIELD_COLOUR}
    return {dim: {"light": colour(token, "light"), "dark": colour(token, "dark")} for dim, token in tokens.items()}


# ---- what follows


@lru_cache(maxsize=32)
def _end(linear: Linearization | None) -> dict[str, Any] | None:
    from isoviz.layouts import Component, Mode

    if linear is None:
        return None
    field = linear.fields.names[0]
    strides = dict(linear.strides(field))
    digits = []
    for component, part in zip(linear.layout.components, linear.parts, strict=True):
        if isinstance(part, Mode) and isinstance(component, Component):
            digits.append(
                {
                    "component": str(component),
                    "dim": component.dim,
                    "extent": f"{part.extent:,}",
                    "step": f"{part.step:,}",
                    "stride": _stride(linear, part, strides[part]),
                }
            )
        else:
            digits.append(
                {
                    "component": "F",
                    "dim": "F",
                    "extent": f"{len(linear.fields):,}",
                    "step": "",
                    "stride": "" if len(linear.fields) == 1 else f"{linear.field_base(linear.fields.names[1]):,}",
                }
            )
    padding = linear.nbytes - linear.payload
    return {
        "components": [
            {"text": str(part), "dim": part.dim if isinstance(part, Component) else "F"} for part in linear.layout.components
        ],
        "pretty": linear.layout.pretty,
        "size": format_bytes(linear.nbytes),
        "note": f"{format_bytes(padding)} of it padding" if padding else "",
        "numpy": _numpy(linear),
        "digits": digits,
    }


def _numpy(linear: Linearization) -> str:
    from isoviz.figures import numpy_equivalent

    same = numpy_equivalent(linear, max_fields=6)
    return f"{same.array}\n{same.element}"


def _stride(linear: Linearization, mode: Any, first: int) -> str:
    """A stride for people: one number, or one for each field where they differ."""
    found = [dict(linear.strides(name))[mode] for name in linear.fields.names[:8]]
    if len(set(found)) == 1:
        return f"{first:,}"
    return " / ".join(f"{stride:,}" for stride in found) + (" / …" if len(linear.fields) > 8 else "")


def _plan(plan: Plan) -> dict[str, Any]:
    from isoviz.layouts import Layout

    slowest = min(hop.throughput for hop in plan.hops)
    figures = [
        ("bytes", "Moves", format_bytes(plan.bytes)),
        ("seconds", "Predicted time", format_seconds(plan.seconds)),
        ("throughput", "Steady throughput", format_rate(plan.throughput)),
        ("buffers", "Buffers", format_bytes(plan.buffer_bytes) if plan.buffers else "none"),
    ]
    return {
        "planner": plan.planner,
        "figures": [{"name": name, "title": title, "value": value} for name, title, value in figures],
        "hops": [
            {
                "index": hop.index,
                "channel": hop.channel,
                "kind": str(hop.kind),
                "source": hop.source,
                "destination": hop.destination,
                "sourceLayout": Layout(hop.source_layout).pretty,
                "destinationLayout": Layout(hop.destination_layout).pretty,
                "converts": hop.converts,
                "run": format_bytes(hop.request_bytes),
                "shuffle": format_bytes(plan.shuffles[hop.index]) if hop.converts else "none",
                "rate": format_rate(hop.throughput),
                "bottleneck": len(plan.hops) > 1 and hop.throughput == slowest,
            }
            for hop in plan.hops
        ],
        "notes": [sentence(note) for note in plan.notes],
    }


# ---- runs


def _run(state: State) -> dict[str, Any]:
    run = state.run
    reason = reason_not_to_run(state)
    return {
        "number": run.number,
        "phase": run.phase,
        "fraction": run.fraction,
        "text": run.text,
        "error": run.error,
        "transfer": run.transfer_text,
        "canRun": reason == "" and not run.active and state.settled,
        "reason": reason if state.settled else "",
        "offerLocal": state.settled and state.derived.offer_local,
    }


def _verdict(report: Report) -> str:
    if report.verified is None:
        return "Not verified"
    return "Verified bit for bit" if report.verified else "Wrong bytes"


def _report(run: Run, report: Report) -> dict[str, Any]:
    assert run.plan is not None
    said = report.expected
    rows = [("overall", "Overall", report.bytes / said.seconds if said.seconds else 0.0, report.throughput)]
    rows += [
        (hop.channel, f"{hop.index} {hop.kind}", rate, measured.throughput)
        for hop, rate, measured in zip(run.plan.hops, said.rates, report.hops, strict=True)
    ]
    most = max((max(predicted, measured) for _, _, predicted, measured in rows), default=0.0) or 1.0
    return {
        "number": run.number,
        "transfer": run.transfer_text,
        "verified": report.verified,
        "verdict": _verdict(report),
        "seconds": format_seconds(report.seconds),
        "predictedSeconds": format_seconds(said.seconds),
        "rows": [
            {
                "name": name,
                "title": title,
                "predicted": format_rate(predicted),
                "measured": format_rate(measured),
                "predictedShare": predicted / most,
                "measuredShare": measured / most,
                "ratio": f"{measured / predicted:.2f}" if predicted else "",
            }
            for name, title, predicted, measured in rows
        ],
        "notes": [sentence(note) for note in (*_trial_notes(run.plan, report), *report.notes)],
    }


def _trial_notes(plan: Plan, report: Report) -> list[str]:
    """Why another time is predicted than the plan says."""
    if report.tried is None:
        return []
    return [f"predicted as tried just before; by the channels alone: {format_seconds(plan.seconds)}"]


def _past_run(run: Run) -> dict[str, Any]:
    report = run.report
    outcome = {"failed": "Failed", "cancelled": "Cancelled"}.get(run.phase, "")
    return {
        "number": run.number,
        "transfer": run.transfer_text,
        "outcome": outcome if report is None else _verdict(report),
        "verified": None if report is None else report.verified,
        "bytes": "" if run.plan is None else format_bytes(run.plan.bytes),
        "predicted": _predicted(run),
        "measured": "" if report is None else format_seconds(report.seconds),
    }


def _predicted(run: Run) -> str:
    said = run.plan if run.report is None else run.report.expected
    return "" if said is None else format_seconds(said.seconds)
