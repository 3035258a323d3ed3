"""Ranks on a cluster of ipyparallel: its MPI engines serve a client of isoviz in a separate thread, and stay when the client
ends."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from typing import Any

from isoviz.errors import InputError, LaunchError, MissingPartError, line, show
from isoviz.launch.client import Client, Watching
from isoviz.launch.greeting import reach
from isoviz.launch.hello import Hello
from isoviz.launch.reception import Listener
from isoviz.launch.wire import ConnectionLost
from isoviz.launch.worker.rank_service import Worker
from isoviz.launch.worker.rank_worker import CONNECTING, connect

_LOG = logging.getLogger(__name__)


@contextlib.contextmanager
def _engines_of(cluster: Any) -> Iterator[Any]:
    """The client of a cluster: `cluster` itself, or one that is connected for as long as the block runs."""
    try:
        import ipyparallel
    except ModuleNotFoundError:
        raise MissingPartError("ipyparallel", "cluster") from None
    if not isinstance(cluster, ipyparallel.Cluster | ipyparallel.Client):
        raise InputError(f"ranks: cluster={show(cluster)}; expected a Cluster or a Client of ipyparallel")
    if isinstance(cluster, ipyparallel.Client):
        yield cluster
        return
    client = cluster.connect_client_sync()
    try:
        yield client
    finally:
        client.close()


def attached(cluster: Any, count: int | None, address: str | None, watching: Watching) -> ClusterGroup:
    """Have the engines of a cluster serve a new group. `count` is their number, if the caller knows it.

    Raises:
        MissingPartError: ipyparallel is not installed.
        InputError: it is not a cluster, or its engines are not the ranks of one MPI job, or are of another number.
        LaunchError: they cannot serve.
    """
    with _engines_of(cluster) as engines:
        found = [Hello.from_json(facts) for facts in _call_on_all(engines, _facts)] if engines.ids else []
        ranks = sorted(hello.rank for hello in found)
        if not found or ranks != list(range(len(found))) or {hello.size for hello in found} != {len(found)}:
            raise InputError(
                f"ranks: the {len(found)} engines of the cluster are not the ranks of one MPI job; expected a running cluster"
                " such as Cluster(engines='mpi', n=4)"
            )
        if count is not None and len(found) != count:
            raise InputError(f"ranks: the cluster has {len(found)} engines; expected {count}")
        listener = Listener.in_own_folder() if address is None else Listener.on_network(address)
        group = ClusterGroup(len(found), listener, watching)
        try:
            _call_on_all(engines, _serve, group.client.address, group.client.secret)
        except BaseException:
            group.client.drop()
            raise
        return group


class ClusterGroup:
    """Engines of a cluster that serve a client."""

    def __init__(self, count: int, listener: Listener, watching: Watching) -> None:
        self.output: tuple[str, ...] = ()
        self.client = Client(
            count,
            listener=listener,
            watching=watching,
            end=lambda _: None,
            output=list,
            after="the engines were let go; isoviz.ranks(cluster=…) attaches to a cluster again",
        )

    def started(self) -> None:
        """Nothing is noted: the processes and files are the cluster's."""


def _call_on_all(engines: Any, function: Any, *arguments: object) -> list[Any]:
    """What a function returns on all engines.

    Raises:
        LaunchError: it failed on an engine.
    """
    try:
        return list(engines[:].apply_sync(function, *arguments))
    except Exception as error:
        raise LaunchError(f"the engines of the cluster cannot serve: {line(str(error))}") from error


# ---- on the engines


def _facts() -> dict[str, Any]:
    return Hello.of_this_process().to_json()


def _serve(address: str, secret: bytes) -> None:
    """Connect to a client, and serve it in a thread."""
    wire = reach(address, secret, CONNECTING)
    worker = Worker(wire, Hello.of_this_process(), wire.close)

    def serve() -> None:
        try:
            worker.introduce()
            worker.serve(connect)
        except ConnectionLost as error:
            _LOG.debug("the client has gone: %s", error)
        worker.close()

    threading.Thread(target=serve, name="isoviz worker", daemon=True).start()
