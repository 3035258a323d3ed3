"""Transfers and plans as JSON objects, and back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from isoviz.checks import expect
from isoviz.errors import TransferError, show
from isoviz.layouts import FIELDS, Box, ChunkSequence, FieldSpace, IndexSpace, Layout
from isoviz.layouts.lists import EntryList
from isoviz.machines import machine_from_json
from isoviz.machines.limits import MOST_SLOTS
from isoviz.planner.bundled.bundle import Bundle, bundle
from isoviz.planner.cache import CACHE
from isoviz.planner.listed_transfer import ListedTransfer
from isoviz.planner.options import BY_HAND, MOST_REUSE
from isoviz.planner.path_plan import Constraint, Hop, PathPlan
from isoviz.planner.plan import Plan
from isoviz.planner.planner_registry import find_planner
from isoviz.planner.transfer import Instance, Transfer
from isoviz.schema import MismatchError, Node, plain, read_document

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "isoviz-plan-3"
"""Name and version of the JSON form of a plan."""
MACHINE = "machine_file"
"""The key of the machine beside the members of `plan_to_json`, where a file holds both (`save_plan`)."""

_TRANSFER = ("source", "destination"), ("shape", "source_origin", "destination_origin", "fields", "priority", "list")
_ORDER = ("layout", "outer", "per_chunk")
_PLAN = ("transfer", "machine", "planner", "seconds", "paths")
_DECIDED = ("hops", "order", "slots", "overlap", "seconds", "objective", "throughput", "setup", "shares")
_STARTS = ("reuse", "first", "again", "total")
_OPTIONAL = ("source_fields", "kept", "reuse")
_FIGURES = ("bytes", "chunk_bytes", "chunks", "buffer_bytes")
_HOP = ("index", "channel", "kind", "source", "destination", "source_layout", "destination_layout")
_HOP_FIGURES = ("request_bytes", "throughput", "converts")


def transfer_to_json(transfer: Transfer) -> dict[str, Any]:
    """A transfer as a JSON object."""
    expect("transfer_to_json", transfer, Transfer, "a transfer")
    return {
        "source": _instance_to_json(transfer.source),
        "destination": _instance_to_json(transfer.destination),
        "shape": list(transfer.shape),
        "source_origin": list(transfer.source_origin),
        "destination_origin": list(transfer.destination_origin),
        "fields": list(transfer.field_names),
        "priority": transfer.priority,
        **transfer.further_json,
    }


def transfer_from_json(data: Mapping[str, Any] | str, where: str = "transfer") -> Transfer:
    """The transfer of a JSON object that `transfer_to_json` made, or of its text.

    Raises:
        TransferError: the object is invalid; the message names the place. InputError: `where` is not text.
    """
    expect("transfer_from_json, where", where, str, "the name of the transfer for errors")
    return read_document(data, "a transfer", where, TransferError, _transfer)


def _transfer(node: Node) -> Transfer:
    if "bundle" in node.table():
        return _bundle(node)
    parts = node.members(*_TRANSFER)
    return node.made(
        partial(ListedTransfer, **_lists(parts["list"])) if "list" in parts else Transfer,
        _instance(parts["source"]),
        _instance(parts["destination"]),
        _list(parts, "shape"),
        _list(parts, "source_origin"),
        _list(parts, "destination_origin"),
        tuple(name.read(str) for name in parts["fields"].items()) if "fields" in parts else (),
        parts["priority"].read(int) if "priority" in parts else 0,
    )


def _bundle(node: Node) -> Transfer:
    """The bundle of some transfers. The ends and the box beside them follow from its members, but for the range of bytes."""
    parts = node.members(("bundle", "order", "shape", "source_origin"), (*_TRANSFER[0], *_TRANSFER[1]))
    members = [_transfer(each) for each in parts["bundle"].items()]
    made = parts["bundle"].made(bundle, members)
    if not isinstance(made, Bundle):
        parts["bundle"].fail(f"expected at least two transfers, got {len(members)}")
    if "list" in parts:
        parts["list"].fail("expected none beside a bundle: the lists are those of its members")
    order = parts["order"].value
    if order not in ("source", "destination", None):
        parts["order"].fail(f"expected 'source', 'destination' or null, got {show(order)}")
    priority = parts["priority"].read(int) if "priority" in parts else made.priority
    whole, shape, origin = replace(made, order=order, priority=priority), _list(parts, "shape"), _list(parts, "source_origin")
    if not all(len(each) == 1 and type(each[0]) is int for each in (shape, origin)):
        parts["shape"].fail(f"expected a length and an origin of one dimension, got {show(shape)} and {show(origin)}")
    return parts["shape"].made(whole.part, Box(origin, (origin[0] + shape[0],)))


def _lists(node: Node) -> dict[str, Any]:
    parts = node.members(("dim",), ("entries", "to"))
    found: dict[str, Any] = {"dim": parts["dim"].read(str)}
    for name in ("entries", "to"):
        if name in parts:
            packed = parts[name].members(EntryList.KEYS)
            found[name] = parts[name].made(EntryList.from_json, {key: part.value for key, part in packed.items()})
    return found


def _instance_to_json(instance: Instance) -> dict[str, Any]:
    found: dict[str, Any] = {
        "memory": instance.memory,
        "space": instance.space.as_dict(),
        "fields": instance.fields.as_dict(),
        "layout": str(instance.layout),
    }
    if instance.path is not None:
        found["path"] = instance.path
    if instance.offset is not None:
        found["offset"] = instance.offset
    return found


def _instance(node: Node) -> Instance:
    parts = node.members(("memory", "space", "fields", "layout"), ("path", "offset"))
    space, fields, layout = space_at(parts["space"]), fields_at(parts["fields"]), layout_at(parts["layout"])
    path = parts["path"].read(str) if "path" in parts else None
    offset = parts["offset"].read(int) if "offset" in parts else None
    return node.made(Instance, parts["memory"].read(str), space, fields, layout, path, offset)


def space_at(node: Node) -> IndexSpace:
    """The index space whose sizes stand there by dimension."""
    return node.made(IndexSpace.of, node.table())


def fields_at(node: Node) -> FieldSpace:
    """The fields whose dtypes stand there by name."""
    return node.made(FieldSpace.of, node.table())


def layout_at(node: Node) -> Layout:
    """The layout whose text stands there."""
    return node.made(Layout, node.read(str))


def plan_to_json(plan: Plan) -> dict[str, Any]:
    """A plan as a JSON object, as `--json` prints it.

    `plan_from_json` makes an equal plan from it. `paths` holds the complete paths. `hops` repeats the hops of all paths, with the
    numbers of their paths, for programs that read only figures. Bytes, seconds and the other figures are those of all paths
    together. `reuse`, `first`, `again` and `total` are there if the plan is for several starts, or if a later start is shorter
    than the first.
    """
    expect("plan_to_json", plan, Plan, "a plan")
    paths = [_path_to_json(plan, number) for number in range(len(plan.paths))]
    return {
        "format": FORMAT,
        "planner": plan.planner,
        "machine": {"name": plan.machine_name, "digest": plan.machine_digest},
        "bytes": plan.bytes,
        "seconds": plan.seconds,
        "objective": plan.objective,
        **({name: getattr(plan, name) for name in _STARTS} if plan.reuse > 1 or plan.later is not plan else {}),
        "throughput": plan.throughput,
        "chunk_bytes": plan.chunk_bytes,
        "chunks": plan.chunk_count,
        "buffer_bytes": plan.buffer_bytes,
        "hops": [{"path": number, **hop} for number, path in enumerate(paths) for hop in path["hops"]],
        "paths": paths,
        "notes": list(plan.notes),
        "gap": plan.gap,
        **({"emulated": list(plan.emulated)} if plan.emulated else {}),
        **({"violations": plain(plan.violations)} if plan.violations else {}),
        "transfer": transfer_to_json(plan.transfer),
    }


def plan_digest(plan: Plan) -> str:
    """A hexadecimal fingerprint of a plan, the same in every process. Plans with different JSON objects have different ones."""
    return hashlib.sha256(json.dumps(plan_to_json(plan), sort_keys=True).encode()).hexdigest()


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
        **({"source_fields": path.source_fields} if path.source_fields else {}),
        **({"kept": path.kept} if path.kept else {}),
        **({"reuse": path.reuse} if path.reuse > 1 else {}),
        "hops": [hop._asdict() | {"shuffle_bytes": shuffle} for hop, shuffle in zip(path.hops, path.shuffles, strict=True)],
    }


def plan_from_json(data: Mapping[str, Any] | str) -> Plan:
    """The plan of a JSON object that `plan_to_json` made, or of its text. If the object also has the machine, as a file of
    `save_plan` has, this process then knows the machine of the plan.

    Raises:
        TransferError: the object is invalid, or the machine is that of another plan; the message names the place.
    """
    return read_document(data, "a plan", "plan", TransferError, _plan)


def _plan(root: Node) -> Plan:
    root.check_format(FORMAT)
    parts = root.members(_PLAN, ("notes", "gap", "emulated", "violations", MACHINE), others=True)
    machine = parts["machine"].members(("name", "digest"))
    planner = parts["planner"].read(str)
    if planner != BY_HAND:
        parts["planner"].made(find_planner, planner)
    transfer = _transfer(parts["transfer"])
    paths = parts["paths"].items()
    if not paths:
        parts["paths"].fail("expected a list of at least one path, got none")
    parts["seconds"].number()  # which follows from the rest
    plan = parts["paths"].made(
        Plan,
        transfer,
        machine["name"].read(str),
        machine["digest"].read(str),
        planner,
        tuple(_path(node, transfer) for node in paths),
        tuple(str(note) for note in _list(parts, "notes")),
        parts["gap"].number() if "gap" in parts and parts["gap"].value is not None else None,
        tuple(name.read(str) for name in parts["emulated"].items()) if "emulated" in parts else (),
        parts["violations"].read(tuple[Constraint, ...]) if "violations" in parts else (),
    )
    if MACHINE in parts:
        described = parts[MACHINE].made(machine_from_json, parts[MACHINE].value)
        if described.digest != plan.machine_digest:
            parts[MACHINE].fail(f"machine {described.name!r} is not the one that the plan was made for")
        CACHE.keep_machine(described)
    return plan


def _path(node: Node, transfer: Transfer) -> PathPlan:
    """A path of a plan."""
    parts = node.members(("share", "resources", *_DECIDED), (*_FIGURES, *_OPTIONAL))
    part, run = _share(parts["share"], transfer)
    shares = parts["shares"].items()
    names = [name.read(str) for name in parts["resources"].items()]
    if len(names) != len(shares) or len(set(names)) != len(names):
        parts["resources"].fail(f"expected {len(shares)} different names, one for each of the shares, got {show(names)}")
    order = parts["order"].members(_ORDER)
    hops = parts["hops"].items()
    if not hops:
        parts["hops"].fail("expected a list of at least one hop, got none")
    setup = parts["setup"].number()
    kept, reuse = _starts(parts, setup)
    path = PathPlan(
        transfer=part,
        hops=tuple(_hop(hop, i) for i, hop in enumerate(hops)),
        order=layout_at(order["layout"]),
        outer=order["outer"].read(int),
        per_chunk=order["per_chunk"].read(int),
        slots=parts["slots"].read(int),
        overlap=parts["overlap"].read(bool),
        objective=parts["objective"].number(),
        throughput=parts["throughput"].number(),
        setup=setup,
        shares=tuple(_resource_share(share, len(hops)) for share in parts["shares"].items()),
        resources=tuple(names),
        run=run,
        source_fields=parts["source_fields"].read(int) if "source_fields" in parts else 0,
        kept=kept,
        reuse=reuse,
    )
    node.made(_check_path, path, node.path)
    parts["seconds"].number()  # which follows from the rest
    return path


def _starts(parts: Mapping[str, Node], setup: float) -> tuple[float, int]:
    """What later starts of a path save of its set-up, and the number of starts."""
    kept = parts["kept"].number() if "kept" in parts else 0.0
    if kept > setup:
        parts["kept"].fail(f"expected at most the set-up, {setup!r}, got {kept!r}")
    reuse = parts["reuse"].read(int) if "reuse" in parts else 1
    if not 1 <= reuse <= MOST_REUSE:
        parts["reuse"].fail(f"expected 1 to {MOST_REUSE}, got {show(reuse)}")
    return kept, reuse


def _share(node: Node, transfer: Transfer) -> tuple[Transfer, tuple[int, int] | None]:
    """The transfer of a path, and its run of chunks (None: all chunks of that transfer)."""
    if "first" in node.table() or "chunks" in node.table():
        given = node.members(("first", "chunks"))
        first, count = given["first"].read(int), given["chunks"].read(int)
        if not 0 <= first < 2**63 or not 1 <= count < 2**63:
            node.fail(f"{show(count)} chunks from {show(first)} on; expected at least 1, from 0 on")
        return transfer, (first, first + count)
    given = node.members(("origin", "shape"))
    low, shape = ([each.read(int) for each in given[key].items()] for key in ("origin", "shape"))
    sizes = transfer.space.sizes
    corners = list(zip(low, shape, sizes, strict=False)) if len(low) == len(shape) == len(sizes) else []
    if not corners or not all(at >= 0 and extent >= 1 and at + extent <= size for at, extent, size in corners):
        node.fail(f"expected a box that is not empty, within {transfer.space}, got {show(dict(node.table()))}")
    return transfer.part(Box(tuple(low), tuple(at + extent for at, extent in zip(low, shape, strict=True)))), None


def _resource_share(node: Node, hops: int) -> tuple[float, ...]:
    share = node.items()
    if len(share) != hops:
        node.fail(f"expected {hops} numbers, one for every hop, got {len(share)}")
    return tuple(rate.number() for rate in share)


def _hop(node: Node, index: int) -> Hop:
    parts = node.members((*_HOP, *_HOP_FIGURES), ("in_flight", "latency", "shuffle_bytes", "path"))
    if parts["index"].read(int) != index:
        parts["index"].fail(f"expected {index}")
    if not parts["throughput"].number():
        parts["throughput"].fail("expected a number above 0, got 0: nothing would move")
    for end in ("source_layout", "destination_layout"):
        layout_at(parts[end])
    in_flight = parts["in_flight"].read(int) if "in_flight" in parts else 1
    if in_flight < 1:
        parts["in_flight"].fail(f"expected at least 1, got {show(in_flight)}")
    return Hop(
        index=index,
        **{name: parts[name].read(str) for name in _HOP[1:]},
        request_bytes=parts["request_bytes"].number(),
        throughput=parts["throughput"].number(),
        converts=parts["converts"].read(bool),
        in_flight=in_flight,
        latency=parts["latency"].number() if "latency" in parts else 0.0,
    )


def _check_path(path: PathPlan, where: str) -> None:
    """Check that a path, which may have been edited, leads from the source to the destination in valid chunks."""
    at = path.transfer.source.memory
    for hop in path.hops:
        if hop.source != at:
            raise MismatchError(
                f"{where}.hops[{hop.index}].source", f"expected {at!r}, where the hop before ends, got {hop.source!r}"
            )
        at = hop.destination
    if at != path.transfer.destination.memory:
        raise MismatchError(f"{where}.hops", f"end in {at!r}; expected {path.transfer.destination.memory!r}")
    for here, there in zip(path.hops, path.hops[1:], strict=False):
        if Layout(here.destination_layout) != Layout(there.source_layout):
            raise MismatchError(f"{where}.hops[{there.index}].source_layout", f"expected {here.destination_layout!r}")
    ends = path.transfer.source.layout, path.transfer.destination.layout
    if (Layout(path.hops[0].source_layout), Layout(path.hops[-1].destination_layout)) != ends:
        raise MismatchError(f"{where}.hops", "the first or last layout is not that of the transfer's ends")
    if not 1 <= path.slots <= MOST_SLOTS:
        raise MismatchError(f"{where}.slots", f"expected 1 to {MOST_SLOTS}, got {show(path.slots)}")
    most = max(1, len(path.hops) - 1)
    if not 0 <= path.source_fields <= most:
        raise MismatchError(f"{where}.source_fields", f"expected 0 to {most}, got {show(path.source_fields)}")
    if FIELDS in path.chunks.digits and 0 < path.source_fields < most:
        raise MismatchError(f"{where}.source_fields", f"expected 0 or {most}, because the fields number the blocks")
    for buffer in path.buffers:
        held = ChunkSequence(buffer.layout.on(path.transfer.space, path.transfer.fields), path.outer, path.per_chunk)
        if held.digits != path.chunks.digits:
            raise MismatchError(
                f"{where}.order", f"buffer layout {buffer.layout} does not end with the {path.outer} components of the order"
            )
    path.chunks  # noqa: B018  raises if the chunks are invalid


def _list(parts: Mapping[str, Node], key: str) -> tuple[Any, ...]:
    return tuple(item.value for item in parts[key].items()) if key in parts else ()
