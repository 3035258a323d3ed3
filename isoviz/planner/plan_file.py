"""Transfers and plans as JSON objects, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz.errors import InputError, TransferError, show
from isoviz.layouts import Box, ChunkSequence, FieldSpace, IndexSpace, Layout
from isoviz.machines.limits import MOST_SLOTS
from isoviz.planner.options import BY_HAND, check_planner
from isoviz.planner.path_plan import Hop, PathPlan
from isoviz.planner.plan import Plan
from isoviz.planner.reading import needed, number, table, text, whole
from isoviz.planner.transfer import Instance, Transfer

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "isoviz-plan-3"
"""Name and version of the JSON form of a plan."""
OLD_FORMATS = ("isoviz-plan-2",)
"""Forms of plans with one path, which can still be read: what is in `paths` now stood in the plan itself."""

_INSTANCE = ("memory", "space", "fields", "layout", "path")
_TRANSFER = ("source", "destination", "shape", "source_origin", "destination_origin", "fields", "priority")
_HOP = (*Hop._fields, "shuffle_bytes")
_PATH = (
    *("share", "bytes", "seconds", "objective", "setup", "shares", "resources", "throughput", "chunk_bytes", "chunks", "slots"),
    *("overlap", "buffer_bytes", "order", "hops"),
)


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
    """A JSON object from which `plan_from_json` makes an equal plan, structured fields as their bytes; what `--json` prints.

    `paths` have everything. `hops` are those of all paths with the number of their path, for those who read figures only; bytes,
    seconds and the like are of all paths together.
    """
    paths = [_path_to_json(plan, number) for number in range(len(plan.paths))]
    return {
        "format": FORMAT,
        "planner": plan.planner,
        "machine": {"name": plan.machine_name, "digest": plan.machine_digest},
        "bytes": plan.bytes,
        "seconds": plan.seconds,
        "objective": plan.objective,
        "throughput": plan.throughput,
        "chunk_bytes": plan.chunk_bytes,
        "chunks": plan.chunk_count,
        "buffer_bytes": plan.buffer_bytes,
        "hops": [{"path": number, **hop} for number, path in enumerate(paths) for hop in path["hops"]],
        "paths": paths,
        "notes": list(plan.notes),
        "gap": plan.gap,
        "transfer": transfer_to_json(plan.transfer),
    }


def _path_to_json(plan: Plan, number: int) -> dict[str, Any]:
    path, share = plan.paths[number], plan.share(number)
    return {
        "share": {"first": share.start, "chunks": len(share)}
        if isinstance(share, range)
        else {"origin": list(share.lo), "shape": list(share.shape)},
        "bytes": path.bytes,
        "seconds": path.seconds,
        "objective": path.objective,
        "setup": path.setup,
        "shares": [list(share) for share in path.shares],
        "resources": list(path.resources),
        "throughput": path.throughput,
        "chunk_bytes": path.chunk_bytes,
        "chunks": path.chunk_count,
        "slots": path.slots,
        "overlap": path.overlap,
        "buffer_bytes": path.buffer_bytes,
        "order": {"layout": str(path.order), "outer": path.outer, "per_chunk": path.per_chunk},
        "hops": [hop._asdict() | {"shuffle_bytes": shuffle} for hop, shuffle in zip(path.hops, path.shuffles, strict=True)],
    }


def plan_from_json(data: Mapping[str, Any]) -> Plan:
    """The plan that `plan_to_json` described, or that was stored in an older format (`OLD_FORMATS`).

    Raises:
        TransferError: not such an object; the message names the place.
    """
    try:
        return _plan(table(data, "plan"))
    except TransferError:
        raise
    except InputError as error:
        raise TransferError(f"plan: {error}") from None
    except RecursionError:
        raise TransferError("plan: nested too deeply") from None


def _plan(entry: Mapping[str, Any]) -> Plan:
    version = entry.get("format")
    if version != FORMAT and version not in OLD_FORMATS:
        raise TransferError(f"plan.format: expected {FORMAT!r}, got {show(version)}")
    machine = table(needed(entry, "machine", "plan"), "plan.machine", ("name", "digest"))
    planner = text(entry, "planner", "plan")
    if planner != BY_HAND:
        check_planner(planner)
    transfer = transfer_from_json(needed(entry, "transfer", "plan"), "plan.transfer")
    if version == FORMAT:
        given = needed(entry, "paths", "plan")
        if not isinstance(given, list) or not given:
            raise TransferError(f"plan.paths: expected a list of at least one path, got {show(given)}")
        places = [f"plan.paths[{k}]" for k in range(len(given))]
        paths = [_path(table(path, where, _PATH), where, transfer) for path, where in zip(given, places, strict=True)]
        for path, where in zip(paths, places, strict=True):
            _check_path(path, where)
    else:
        paths = [_path(entry, "plan", transfer)]
        _check_path(paths[0], "plan")
    number(entry, "seconds", "plan")  # which follows from the rest
    return Plan(
        transfer,
        text(machine, "name", "plan.machine"),
        text(machine, "digest", "plan.machine"),
        planner,
        tuple(paths),
        tuple(str(note) for note in _list(entry, "notes", "plan")),
        None if entry.get("gap") is None else number(entry, "gap", "plan"),
    )


def _path(entry: Mapping[str, Any], where: str, transfer: Transfer) -> PathPlan:
    """A path of a plan, or the only one of a plan in an old format, which has no share."""
    order = table(needed(entry, "order", where), f"{where}.order", ("layout", "outer", "per_chunk"))
    hops = needed(entry, "hops", where)
    if not isinstance(hops, list) or not hops:
        raise TransferError(f"{where}.hops: expected a list of at least one hop, got {show(hops)}")
    overlap = needed(entry, "overlap", where)
    if not isinstance(overlap, bool):
        raise TransferError(f"{where}.overlap: expected true or false, got {show(overlap)}")
    shares = _shares(entry, where, len(hops))
    part, run = _share(needed(entry, "share", where), where, transfer) if where != "plan" else (transfer, None)
    path = PathPlan(
        transfer=part,
        hops=tuple(_hop(hop, f"{where}.hops[{i}]", i) for i, hop in enumerate(hops)),
        order=Layout(text(order, "layout", f"{where}.order")),
        outer=whole(order, "outer", f"{where}.order"),
        per_chunk=whole(order, "per_chunk", f"{where}.order"),
        slots=whole(entry, "slots", where),
        overlap=overlap,
        objective=number(entry, "objective", where),
        throughput=number(entry, "throughput", where),
        setup=number(entry, "setup", where),
        shares=shares,
        resources=_resources(entry, where, len(shares)) if where != "plan" else tuple(f"#{k}" for k in range(len(shares))),
        run=run,
    )
    number(entry, "seconds", where)  # which follows from the rest
    return path


def _share(data: Any, where: str, transfer: Transfer) -> tuple[Transfer, tuple[int, int] | None]:
    """What a path moves, and its run of chunks."""
    where = f"{where}.share"
    entry = table(data, where, ("origin", "shape", "first", "chunks"))
    if "first" in entry or "chunks" in entry:
        table(entry, where, ("first", "chunks"))
        first, count = whole(entry, "first", where), whole(entry, "chunks", where)
        if not 0 <= first < 2**63 or not 1 <= count < 2**63:
            raise TransferError(f"{where}: {show(count)} chunks from {show(first)} on; expected at least 1, from 0 on")
        return transfer, (first, first + count)
    corners = []
    for key in ("origin", "shape"):
        values = needed(entry, key, where)
        if not isinstance(values, list) or len(values) != len(transfer.space):
            raise TransferError(f"{where}.{key}: expected {len(transfer.space)} whole numbers, got {show(values)}")
        corners.append([whole({key: value}, key, where) for value in values])
    low, shape = corners
    sizes = transfer.space.sizes
    if not all(at >= 0 and extent >= 1 and at + extent <= size for at, extent, size in zip(low, shape, sizes, strict=True)):
        raise TransferError(f"{where}: expected a box that is not empty, within {transfer.space}, got {show(dict(entry))}")
    return transfer.part(Box(tuple(low), tuple(at + extent for at, extent in zip(low, shape, strict=True)))), None


def _shares(entry: Mapping[str, Any], where: str, hops: int) -> tuple[tuple[float, ...], ...]:
    found = []
    needed(entry, "shares", where)
    for k, share in enumerate(_list(entry, "shares", where)):
        at = f"{where}.shares[{k}]"
        if not isinstance(share, list) or len(share) != hops:
            raise TransferError(f"{at}: expected {hops} numbers, one for every hop, got {show(share)}")
        values = {str(h): value for h, value in enumerate(share)}
        found.append(tuple(number(values, name, at) for name in values))
    return tuple(found)


def _resources(entry: Mapping[str, Any], where: str, count: int) -> tuple[str, ...]:
    needed(entry, "resources", where)
    found = _list(entry, "resources", where)
    if len(found) != count or not all(isinstance(name, str) for name in found) or len(set(found)) != count:
        raise TransferError(f"{where}.resources: expected {count} different names, one for each of the shares, got {show(found)}")
    return found


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


def _check_path(path: PathPlan, where: str) -> None:
    """A path somebody edited must still lead from the source to the destination, in chunks that exist."""
    at = path.transfer.source.memory
    for hop in path.hops:
        if hop.source != at:
            raise TransferError(
                f"{where}.hops[{hop.index}].source: expected {at!r}, where the hop before ends, got {hop.source!r}"
            )
        at = hop.destination
    if at != path.transfer.destination.memory:
        raise TransferError(f"{where}.hops: end in {at!r}; expected {path.transfer.destination.memory!r}")
    for here, there in zip(path.hops, path.hops[1:], strict=False):
        if Layout(here.destination_layout) != Layout(there.source_layout):
            raise TransferError(f"{where}.hops[{there.index}].source_layout: expected {here.destination_layout!r}")
    ends = path.transfer.source.layout, path.transfer.destination.layout
    if (Layout(path.hops[0].source_layout), Layout(path.hops[-1].destination_layout)) != ends:
        raise TransferError(f"{where}.hops: the first or last layout is not that of the transfer's ends")
    if not 1 <= path.slots <= MOST_SLOTS:
        raise TransferError(f"{where}.slots: expected 1 to {MOST_SLOTS}, got {show(path.slots)}")
    for buffer in path.buffers:
        held = ChunkSequence(buffer.layout.on(path.transfer.space, path.transfer.fields), path.outer, path.per_chunk)
        if held.digits != path.chunks.digits:
            raise TransferError(
                f"{where}.order: buffer layout {buffer.layout} does not end with the {path.outer} components of the order"
            )
    path.chunks  # noqa: B018  raises where the chunks cannot be


def _list(entry: Mapping[str, Any], key: str, where: str) -> tuple[Any, ...]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise TransferError(f"{where}.{key}: expected a list, got {show(value)}")
    return tuple(value)
