"""Distributed instances and plans of redistributions as JSON objects, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import DistributionError, InputError
from isoviz.layouts import FieldSpace, IndexSpace, Layout
from isoviz.planner import plan_from_json, plan_to_json
from isoviz.redistribution.distributed_instance import DistributedInstance
from isoviz.redistribution.distribution import Distribution
from isoviz.redistribution.planning import check_ends, relabelled, staggered
from isoviz.redistribution.redistribution_plan import RedistributionPlan, Sending
from isoviz.redistribution.regular_transfer import pair_transfers
from isoviz.schema import Node, errors_as

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoviz.planner import Plan

FORMAT = "isoviz-redistribution-1"
"""Name and version of the JSON form of a redistribution's plan."""

_INSTANCE = ("space", "fields", "distribution", "layout", "memory")
_FIGURES = ("bytes", "seconds", "throughput")


def instance_from_json(data: Any, where: str = "instance") -> DistributedInstance:
    """The distributed instance of a JSON object that `DistributedInstance.to_json` made.

    Raises:
        DistributionError: the object is invalid; the message names the place.
        SpaceError, LayoutError, NotationError: a value in it is.
    """
    with errors_as(DistributionError):
        return _instance(Node(data, where))


def _instance(node: Node) -> DistributedInstance:
    parts = node.members(_INSTANCE)
    spread = parts["distribution"].members(("over",), ("block", "ranks"))
    ranks = tuple(rank.read(int) for rank in spread["ranks"].items()) if "ranks" in spread else ()
    return DistributedInstance(
        IndexSpace.of(parts["space"].table()),
        FieldSpace.of(parts["fields"].table()),
        Distribution(spread["over"].table(), spread["block"].table() if "block" in spread else {}, ranks),
        Layout(parts["layout"].read(str)),
        parts["memory"].read(str),
    )


def redistribution_to_json(plan: RedistributionPlan) -> dict[str, Any]:
    """The plan of a redistribution as a JSON object.

    `classes` holds a plan for each search. `sendings` holds every transfer in order: sender, receiver, bytes, the number of its
    class, and the names that take the place of those in the plan of its class.
    """
    expect("redistribution", plan, RedistributionPlan, "a plan of a redistribution")
    models: dict[int, Plan] = {}
    for each in plan.sendings:
        models.setdefault(each.kind, each.plan)
    number_of = {kind: number for number, kind in enumerate(models)}
    return {
        "format": FORMAT,
        "machine": {"name": plan.machine_name, "digest": plan.machine_digest},
        "bytes": plan.bytes,
        "seconds": plan.seconds,
        "throughput": plan.throughput,
        "source": plan.source.to_json(),
        "destination": plan.destination.to_json(),
        "classes": [plan_to_json(model) for model in models.values()],
        "sendings": [
            {
                "sender": each.sender,
                "receiver": each.receiver,
                "bytes": each.bytes,
                "class": number_of[each.kind],
                "memories": list(each.plan.memories),
                "channels": [hop.channel for hop in each.plan.hops],
                "resources": list(each.plan.only.resources),
            }
            for each in plan.sendings
        ],
    }


def redistribution_from_json(data: Mapping[str, Any]) -> RedistributionPlan:
    """The plan of a JSON object that `redistribution_to_json` made.

    Raises:
        DistributionError: the object is invalid; the message names the place.
    """
    try:
        with errors_as(DistributionError):
            return _plan(Node(data, "redistribution"))
    except DistributionError:
        raise
    except InputError as error:
        raise DistributionError(f"redistribution: {error}") from None
    except RecursionError:
        raise DistributionError("redistribution: nested too deeply") from None


def _plan(root: Node) -> RedistributionPlan:
    root.check_format(FORMAT)
    parts = root.members(("machine", "source", "destination", "classes", "sendings"), ("format", *_FIGURES))
    machine = parts["machine"].members(("name", "digest"))
    name, digest = machine["name"].read(str), machine["digest"].read(str)
    source, destination = _instance(parts["source"]), _instance(parts["destination"])
    check_ends(source, destination)
    models = [_model(node) for node in parts["classes"].items()]
    transfers = [
        (sender, receiver, transfer)
        for sender, receiver in staggered(source, destination)
        for transfer in pair_transfers(source, destination, sender, receiver)
    ]
    nodes = parts["sendings"].items()
    if len(nodes) != len(transfers):
        parts["sendings"].fail(f"expected {len(transfers)} transfers, which these distributions need, got {len(nodes)}")
    sendings = []
    for node, (sender, receiver, transfer) in zip(nodes, transfers, strict=True):
        given = node.members(("sender", "receiver", "bytes", "class", "memories", "channels", "resources"))
        written = tuple(given[key].read(int) for key in ("sender", "receiver", "bytes"))
        if written != (sender, receiver, transfer.nbytes):
            node.fail(f"expected {transfer.nbytes} bytes from rank {sender} to rank {receiver}")
        kind = given["class"].read(int)
        if not 0 <= kind < len(models):
            given["class"].fail(f"expected 0 to {len(models) - 1}, got {kind}")
        model = models[kind]
        if model.transfer.shape != transfer.shape:
            given["class"].fail(f"the plan of class {kind} moves {model.transfer.space}, this transfer {transfer.space}")
        names = {
            "memory": _names(given["memories"], model.memories),
            "channel": _names(given["channels"], tuple(hop.channel for hop in model.hops)),
            "resource": _names(given["resources"], model.only.resources),
        }
        ends = names["memory"][model.memories[0]], names["memory"][model.memories[-1]]
        if ends != (transfer.source.memory, transfer.destination.memory):
            given["memories"].fail(f"expected a path from {transfer.source.memory} to {transfer.destination.memory}")
        found = relabelled(model, transfer, names, name, digest)
        sendings.append(Sending(sender, receiver, found, kind))
    return RedistributionPlan(source, destination, name, digest, tuple(sendings))


def _model(node: Node) -> Plan:
    """The plan of a class. Which entries it moves follows from the distributions, so its regular sets are not read."""
    data = dict(node.table())
    transfer = dict(Node(data.get("transfer"), node.child("transfer")).table())
    transfer.pop("sets", None)
    found = plan_from_json(data | {"transfer": transfer})
    if len(found.paths) != 1:
        node.fail(f"expected a plan with one path, got {len(found.paths)}")
    return found


def _names(node: Node, model: tuple[str, ...]) -> dict[str, str]:
    given = [each.read(str) for each in node.items()]
    if len(given) != len(model):
        node.fail(f"expected {len(model)} names, got {len(given)}")
    for each, name in zip(node.items(), given, strict=True):
        try:
            checks.text("", "", name)
        except checks.FieldError as error:
            each.fail(error.problem)
    if len(set(zip(model, given, strict=True))) != len(set(given)) or len(set(given)) != len(set(model)):
        node.fail(f"expected one name for each of {', '.join(dict.fromkeys(model))}, got {', '.join(given)}")
    return dict(zip(model, given, strict=True))
