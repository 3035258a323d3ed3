"""Edits of networks: add, change, delete, and dead parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from isoviz.errors import MachineError, show
from isoviz.machines.machine import Machine, some
from isoviz.machines.networks import Network


def with_network(machine: Machine, network: Network) -> Machine:
    """The machine with one more network.

    Raises:
        MachineError: another network has the name, or a port is that of no memory.
    """
    return replace(machine, networks=(*machine.networks, network))


def without_network(machine: Machine, name: str) -> Machine:
    """The machine without a network.

    Raises:
        MachineError: there is no such network.
    """
    _network(machine, name)
    return replace(machine, networks=tuple(each for each in machine.networks if each.name != name))


def changed_network(machine: Machine, name: str, /, **changes: Any) -> Machine:
    """The machine with fields of one network changed.

    Raises:
        MachineError: there is no such network, or a value is wrong.
    """
    after = replace(_network(machine, name), **changes)
    return replace(machine, networks=tuple(after if each.name == name else each for each in machine.networks))


def with_dead_parts(machine: Machine, name: str, links: Iterable[str] = (), routers: Iterable[str] = ()) -> Machine:
    """The machine in which further links and routers of a network carry nothing.

    Raises:
        MachineError: there is no such network, link or router.
    """
    network = _network(machine, name)
    dead = {"dead_links": (*network.dead_links, *links), "dead_routers": (*network.dead_routers, *routers)}
    return changed_network(machine, name, **dead)


def with_ports(network: Network, names: Mapping[str, str | None]) -> Network:
    """The network with memories of its ports renamed, or without the ports of those whose new name is None."""
    if not any(network.has_port(name) for name in names):
        return network
    ports = []
    for port in network.ports:
        memory = names.get(port.memory, port.memory)
        if memory is not None:
            ports.append(port if memory == port.memory else replace(port, memory=memory))
    return replace(network, ports=tuple(ports))


def _network(machine: Machine, name: str) -> Network:
    found = next((each for each in machine.networks if each.name == name), None)
    if found is None:
        known = some(each.name for each in machine.networks) or "none"
        raise MachineError(f"machine {machine.name!r} has no network {show(name)}; it has {known}")
    return found
