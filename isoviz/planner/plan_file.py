"""Transfers and plans as JSON objects, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError, TransferError, show
from isoviz.layouts import ChunkSequence, FieldSpace, IndexSpace, Layout
from isoviz.machines.limits import MOST_SLOTS
from isoviz.planner.options import BY_HAND, check_planner
from isoviz.planner.plan import Hop, Plan
from isoviz.planner.reading import needed, number, table, text, whole
from isoviz.planner.transfer import Instance, Transfer

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "isoviz-plan-2"
"""Name and version of the JSON form of a plan."""

_INSTANCE = ("memory", "space", "fields", "layout", "path")
_TRANSFER = ("source", "destination", "shape", "source_origin", "destination_origin", "fields", "priority")
_HOP = (*Hop._fields, "shuffle_bytes")


def transfer_to_json(transfer: Transfer) -> dict[str, Any]:
    """A transfer as a JSON object."""
    return {
        "source": _instance_to_json(transfer.source),
        "destination": _instance_to_json(transfer.destination),
        "shape": list(transfer.shape),
        "source_origin": list(transfer.source_origin),
        "destination_origin": list(transfer.destination_origin),
        "fields": list(transfer.field_names),
        "priority": transfer.priority,
    }


def transfer_from_json(data: Any, where: str = "transfer") -> Transfer:
    """The transfer that `transfer_to_json` described.

    Raises:
        TransferError: not such an object; the message names the place.
    """
    entry = table(data, where, _TRANSFER)
    return Transfer(
        _instance_from_json(needed(entry, "source", where), f"{where}.source"),
        _instance_from_json(needed(entry, "destination", where), f"{where}.destination"),
        _list(entry, "shape", where),
        _list(entry, "source_origin", where),
        _list(entry, "destination_origin", where),
        _list(entry, "fields", where),
        whole(entry, "priority", where, 0),
    )


def _instance_to_json(instance: Instance) -> dict[str, Any]:
    found: dict[str, Any] = {
        "memory": instance.memory,
        "space": instance.space.as_dict(),
        "fields": instance.fields.as_dict(),
        "layout": str(instance.layout),
    }
    if instance.path is not None:
        found["path"] = instance.path
    return found


def _instance_from_json(data: Any, where: str) -> Instance:
    entry = table(data, where, _INSTANCE)
    space = IndexSpace.of(table(needed(entry, "space", where), f"{where}.space"))
    fields = FieldSpace.of(table(needed(entry, "fields", where), f"{where}.fields"))
    path = text(entry, "path", where) if "path" in entry else None
    return Instance(text(entry, "memory", where), space, fields, Layout(text(entry, "layout", where)), path)


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """See `Plan.to_json`."""
    return {
        "format": FORMAT,
        "planner": plan.planner,
        "machine": {"name": plan.machine_name, "digest": plan.machine_digest},
        "bytes": plan.bytes,
        "seconds": plan.seconds,
        "objective": plan.objective,
        "setup": plan.setup,
        "shares": [list(share) for share in plan.shares],
        "throughput": plan.throughput,
        "chunk_bytes": plan.chunk_bytes,
        "chunks": plan.chunk_count,
        "slots": plan.slots,
        "overlap": plan.overlap,
        "buffer_bytes": plan.buffer_bytes,
        "order": {"layout": str(plan.order), "outer": plan.outer, "per_chunk": plan.per_chunk},
        "hops": [hop._asdict() | {"shuffle_bytes": shuffle} for hop, shuffle in zip(plan.hops, plan.shuffles, strict=True)],
        "notes": list(plan.notes),
        "gap": plan.gap,
        "transfer": transfer_to_json(plan.transfer),
    }


def plan_from_json(data: Mapping[str, Any]) -> Plan:
    """See `Plan.from_json`."""
    try:
        return _plan(table(data, "plan"))
    except TransferError:
        raise
    except InputError as error:
        raise TransferError(f"plan: {error}") from None
    except RecursionError:
        raise TransferError("plan: nested too deeply") from None


def _plan(entry: Mapping[str, Any]) -> Plan:
    if entry.get("format") != FORMAT:
        raise TransferError(f"plan.format: expected {FORMAT!r}, got {show(entry.get('format'))}")
    machine = table(needed(entry, "machine", "plan"), "plan.machine", ("name", "digest"))
    order = table(needed(entry, "order", "plan"), "plan.order", ("layout", "outer", "per_chunk"))
    hops = needed(entry, "hops", "plan")
    if not isinstance(hops, list) or not hops:
        raise TransferError(f"plan.hops: expected a list of at least one hop, got {show(hops)}")
    planner = text(entry, "planner", "plan")
    if planner != BY_HAND:
        check_planner(planner)
    overlap = needed(entry, "overlap", "plan")
    if not isinstance(overlap, bool):
        raise TransferError(f"plan.overlap: expected true or false, got {show(overlap)}")
    plan = Plan(
        transfer=transfer_from_json(needed(entry, "transfer", "plan"), "plan.transfer"),
        machine_name=text(machine, "name", "plan.machine"),
        machine_digest=text(machine, "digest", "plan.machine"),
        planner=planner,
        hops=tuple(_hop(hop, f"plan.hops[{i}]", i) for i, hop in enumerate(hops)),
        order=Layout(text(order, "layout", "plan.order")),
        outer=whole(order, "outer", "plan.order"),
        per_chunk=whole(order, "per_chunk", "plan.order"),
        slots=whole(entry, "slots", "plan"),
        overlap=overlap,
        objective=number(entry, "objective", "plan"),
        throughput=number(entry, "throughput", "plan"),
        setup=number(entry, "setup", "plan"),
        shares=_shares(entry, len(hops)),
        notes=tuple(str(note) for note in _list(entry, "notes", "plan")),
        gap=None if entry.get("gap") is None else number(entry, "gap", "plan"),
    )
    _check_path(plan)
    number(entry, "seconds", "plan")  # which follows from the rest
    return plan


def _shares(entry: Mapping[str, Any], hops: int) -> tuple[tuple[float, ...], ...]:
    found = []
    needed(entry, "shares", "plan")
    for k, share in enumerate(_list(entry, "shares", "plan")):
        where = f"plan.shares[{k}]"
        if not isinstance(share, list) or len(share) != hops:
            raise TransferError(f"{where}: expected {hops} numbers, one for every hop, got {show(share)}")
        values = {str(h): value for h, value in enumerate(share)}
        found.append(tuple(number(values, name, where) for name in values))
    return tuple(found)


def _hop(data: Any, where: str, index: int) -> Hop:
    entry = table(data, where, _HOP)
    if whole(entry, "index", where) != index:
        raise TransferError(f"{where}.index: expected {index}")
    converts = needed(entry, "converts", where)
    if not isinstance(converts, bool):
        raise TransferError(f"{where}.converts: expected true or false, got {show(converts)}")
    texts = {
        name: text(entry, name, where)
        for name in ("channel", "kind", "source", "destination", "source_layout", "destination_layout")
    }
    return Hop(
        index=index,
        **texts,
        request_bytes=number(entry, "request_bytes", where),
        throughput=number(entry, "throughput", where),
        converts=converts,
    )


def _check_path(plan: Plan) -> None:
    """A plan somebody edited must still lead from the source to the destination, in chunks that exist."""
    at = plan.transfer.source.memory
    for hop in plan.hops:
        if hop.source != at:
            raise TransferError(f"plan.hops[{hop.index}].source: expected {at!r}, where the hop before ends, got {hop.source!r}")
        at = hop.destination
    if at != plan.transfer.destination.memory:
        raise TransferError(f"plan.hops: end in {at!r}; expected {plan.transfer.destination.memory!r}")
    for here, there in zip(plan.hops, plan.hops[1:], strict=False):
        if Layout(here.destination_layout) != Layout(there.source_layout):
            raise TransferError(f"plan.hops[{there.index}].source_layout: expected {here.destination_layout!r}")
    ends = plan.transfer.source.layout, plan.transfer.destination.layout
    if (Layout(plan.hops[0].source_layout), Layout(plan.hops[-1].destination_layout)) != ends:
        raise TransferError("plan.hops: the first or last layout is not that of the transfer's ends")
    if not 1 <= plan.slots <= MOST_SLOTS:
        raise TransferError(f"plan.slots: expected 1 to {MOST_SLOTS}, got {show(plan.slots)}")
    for buffer in plan.buffers:
        held = ChunkSequence(buffer.layout.on(plan.transfer.space, plan.transfer.fields), plan.outer, plan.per_chunk)
        if held.digits != plan.chunks.digits:
            raise TransferError(
                f"plan.order: buffer layout {buffer.layout} does not end with the {plan.outer} components of the order"
            )
    plan.chunks  # noqa: B018  raises where the chunks cannot be


def _list(entry: Mapping[str, Any], key: str, where: str) -> tuple[Any, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise TransferError(f"{where}.{key}: expected a list, got {show(value)}")
    return tuple(value)
