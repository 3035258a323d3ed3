"""Transfers and plans as JSON objects, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError, TransferError, show
from isoviz.json_cursor import Document, Node
from isoviz.layouts import ChunkSequence, FieldSpace, IndexSpace, Layout
from isoviz.machines.limits import MOST_SLOTS
from isoviz.planner.options import BY_HAND, check_planner
from isoviz.planner.plan import Hop, Plan
from isoviz.planner.transfer import Instance, Transfer

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "isoviz-plan-2"
"""Name and version of the JSON form of a plan."""

PLAN = Document("a plan", TransferError)

_TRANSFER = ("source", "destination"), ("shape", "source_origin", "destination_origin", "fields", "priority")
_ORDER = ("layout", "outer", "per_chunk")
_PLAN = (
    *("transfer", "machine", "planner", "hops", "order", "slots", "overlap"),
    *("seconds", "objective", "throughput", "setup", "shares"),
)
_HOP = ("index", "channel", "kind", "source", "destination", "source_layout", "destination_layout")
_HOP_FIGURES = ("request_bytes", "throughput", "converts")


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
    return _transfer(Node(data, where, PLAN))


def _transfer(node: Node) -> Transfer:
    parts = node.members(*_TRANSFER)
    return Transfer(
        _instance(parts["source"]),
        _instance(parts["destination"]),
        _list(parts, "shape"),
        _list(parts, "source_origin"),
        _list(parts, "destination_origin"),
        _list(parts, "fields"),
        parts["priority"].whole() if "priority" in parts else 0,
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


def _instance(node: Node) -> Instance:
    parts = node.members(("memory", "space", "fields", "layout"), ("path",))
    space, fields = IndexSpace.of(parts["space"].table()), FieldSpace.of(parts["fields"].table())
    path = parts["path"].text() if "path" in parts else None
    return Instance(parts["memory"].text(), space, fields, Layout(parts["layout"].text()), path)


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
        return _plan(Node(data, "plan", PLAN))
    except TransferError:
        raise
    except InputError as error:
        raise TransferError(f"plan: {error}") from None
    except RecursionError:
        raise TransferError("plan: nested too deeply") from None


def _plan(root: Node) -> Plan:
    root.choice("format", (FORMAT,))
    parts = root.members(_PLAN, ("notes", "gap"), others=True)
    machine = parts["machine"].members(("name", "digest"))
    order = parts["order"].members(_ORDER)
    hops = parts["hops"].items()
    if not hops:
        parts["hops"].fail("expected a list of at least one hop, got none")
    planner = parts["planner"].text()
    if planner != BY_HAND:
        check_planner(planner)
    plan = Plan(
        transfer=_transfer(parts["transfer"]),
        machine_name=machine["name"].text(),
        machine_digest=machine["digest"].text(),
        planner=planner,
        hops=tuple(_hop(hop, i) for i, hop in enumerate(hops)),
        order=Layout(order["layout"].text()),
        outer=order["outer"].whole(),
        per_chunk=order["per_chunk"].whole(),
        slots=parts["slots"].whole(),
        overlap=parts["overlap"].flag(),
        objective=parts["objective"].number(),
        throughput=parts["throughput"].number(),
        setup=parts["setup"].number(),
        shares=tuple(_share(share, len(hops)) for share in parts["shares"].items()),
        notes=tuple(str(note) for note in _list(parts, "notes")),
        gap=parts["gap"].number() if "gap" in parts and parts["gap"].value is not None else None,
    )
    _check_path(plan)
    parts["seconds"].number()  # which follows from the rest
    return plan


def _share(node: Node, hops: int) -> tuple[float, ...]:
    share = node.items()
    if len(share) != hops:
        node.fail(f"expected {hops} numbers, one for every hop, got {len(share)}")
    return tuple(rate.number() for rate in share)


def _hop(node: Node, index: int) -> Hop:
    parts = node.members((*_HOP, *_HOP_FIGURES), ("shuffle_bytes",))
    if parts["index"].whole() != index:
        parts["index"].fail(f"expected {index}")
    return Hop(
        index=index,
        **{name: parts[name].text() for name in _HOP[1:]},
        request_bytes=parts["request_bytes"].number(),
        throughput=parts["throughput"].number(),
        converts=parts["converts"].flag(),
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


def _list(parts: Mapping[str, Node], key: str) -> tuple[Any, ...]:
    return tuple(item.value for item in parts[key].items()) if key in parts else ()
