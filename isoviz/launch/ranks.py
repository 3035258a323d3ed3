"""`isoviz.ranks(4)`: MPI ranks for a notebook, a script or the shell."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import Cancelled, InputError, MachineError, RunError, show
from isoviz.launch.client import Watching
from isoviz.launch.groups import Group, JobGroup, Wanted, check_ranks, find_mpi, thread_limits
from isoviz.launch.hello import Hello
from isoviz.launch.pending import first_failure
from isoviz.launch.submitted_plans import PreparedOnRanks, SentBefore, SubmittedPlans
from isoviz.machines import machine_argument, preset

if TYPE_CHECKING:
    from isoviz.machines import Machine, MachineLike
    from isoviz.planner import Plan
    from isoviz.runtime import CancelToken, Report
    from isoviz.runtime.engine.progress import ProgressCallback

_ON_CLOSE = 2.0
MOST_SECONDS = 1e9
"""The longest times that `ranks` takes. Python's clocks cannot wait much longer."""


class Ranks:
    """A group of running MPI ranks. `isoviz.ranks` makes it; see there.

    Any thread may use it. Use it in a `with`, or call `close`; the end of the program closes it, too. If a rank is lost, all
    waiting calls raise the same RankLost and all processes of the group are ended. `start_again` then starts new ones.
    """

    def __init__(self, make: Callable[[], Group], start_timeout: float) -> None:
        self._make, self._start_timeout = make, start_timeout
        self._machine: Machine | None = None
        self._start()

    def _start(self) -> None:
        began = time.perf_counter()
        self._group = self._make()
        self._count = self._group.client.size
        self._sent = SentBefore()
        self._submitting = threading.Lock()
        self._end = weakref.finalize(self, self._group.client.drop)
        try:
            self._group.client.wait_until_ready(self._start_timeout)
        except BaseException:
            self._end()
            raise
        self._group.started()
        self.start_seconds = time.perf_counter() - began

    # ---- life

    def __enter__(self) -> Ranks:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Cancel what the ranks are doing, wait a moment, and end them. No process and no file is left. Safe to call twice."""
        if self._end.alive:
            self._group.client.close(_ON_CLOSE)
            self._end()

    def start_again(self) -> Ranks:
        """End the ranks, if they have not ended, and start new ones in the same way. Returns this object.

        Raises:
            LaunchError: they did not start.
        """
        self.close()
        self._start()
        return self

    # ---- asking

    def __len__(self) -> int:
        return self._count

    @property
    def is_alive(self) -> bool:
        """Whether the ranks can be used."""
        return self._group.client.error is None

    @property
    def error(self) -> RunError | None:
        """Why the ranks cannot be used; None while they can."""
        return self._group.client.error

    @property
    def processes(self) -> tuple[Hello, ...]:
        """The processes of the ranks, by rank: versions, host, process id and number of processors."""
        return tuple(self._group.client.hellos)

    @property
    def output(self) -> tuple[str, ...]:
        """The last lines that the ranks and `mpiexec` have printed."""
        return self._group.output

    def ping(self) -> float:
        """Seconds until every rank has answered. Ranks answer at once, even while they work.

        Raises:
            RankLost, RanksClosed: the ranks have ended.
        """
        began = time.perf_counter()
        client = self._group.client
        client.results(client.send("ping"))
        return time.perf_counter() - began

    def state(self) -> list[dict[str, Any]]:
        """What each rank is doing: `doing` (a name or None), for how many `seconds`, and how many commands are `waiting`.

        Raises:
            RankLost, RanksClosed: the ranks have ended.
        """
        client = self._group.client
        values, _ = client.results(client.send("state"))
        return [values[rank] for rank in range(self._count)]

    def __repr__(self) -> str:
        client = self._group.client
        hosts = sorted({hello.host for hello in client.hellos})
        noun = "rank" if self._count == 1 else "ranks"
        where = f"on {hosts[0]}" if len(hosts) == 1 else f"on {len(hosts)} hosts"
        if client.error is not None:
            return f"<{self._count} {noun}: {client.error}>"
        pids = ", ".join(str(hello.pid) for hello in client.hellos[:8]) + (", …" if self._count > 8 else "")
        doing = "busy" if client.is_busy else "idle"
        return f"<{self._count} {noun} of {client.mpi} {where}, pid {pids}: {doing}>"

    # ---- working

    def call(
        self,
        function: Callable[..., Any],
        /,
        *arguments: Any,
        ranks: Sequence[int] | None = None,
        tell: Callable[[int, Any], None] | None = None,
        cancel: threading.Event | None = None,
        **keywords: Any,
    ) -> list[Any]:
        """Call a function on ranks and return the results in the order of `ranks` (None: all ranks).

        The ranks import the function by its module and name, so it belongs to a module, not to a notebook. On each rank one call
        runs at a time, in the order in which this process made the calls; functions may therefore use MPI together. In the
        function, `isoviz.launch.this_rank.this_rank()` gives its rank, with `tell` and `cancel`. `tell(rank, value)` is called
        here, in a separate thread, with every value that the function passes to `this_rank().tell`. Ctrl-C stops the waiting and
        sets the `cancel` of the function; the ranks stay. A set `cancel` here sets it, too, but the results are still awaited. If
        the function fails on a rank, its `cancel` is set on the other ranks, and their waits in `isoviz.rma` for the failed rank
        end.

        Raises:
            InputError: there is no such rank.
            RankError: the function raised on a rank. It names the first such rank, and its cause is the error on that rank.
                Errors that followed from it on other ranks are left out.
            RankLost, RanksClosed: the ranks have ended.
        """
        chosen = self._chosen(ranks)
        client = self._group.client
        pending = client.send("call", (function, arguments, keywords), chosen, tell)
        values, failures = client.results(pending, cancel)
        if failures:
            raise first_failure(failures)
        return [values[rank] for rank in chosen]

    @property
    def machine(self) -> Machine:
        """The machine of these ranks, for planning: rank r has the memories of node r. Set another one to use it instead.

        By default it is `isoviz.machines.preset("ranks", …)` for as many ranks on their hosts.

        Raises:
            MachineError: an assigned machine has nodes without a rank.
        """
        if self._machine is None:
            hosts = [hello.host for hello in self._group.client.hellos]
            self._machine = preset("ranks", ranks=self._count, hosts=hosts)
        return self._machine

    @machine.setter
    def machine(self, machine: Machine) -> None:
        machine = machine_argument("ranks", machine)
        nodes = max((memory.node for memory in machine.memories), default=0) + 1
        if nodes > self._count:
            raise MachineError(f"machine {machine.name!r} has {nodes} nodes; expected at most {self._count}, one for each rank")
        self._machine = machine

    @property
    def mpi(self) -> str:
        """The MPI library of the ranks, with its version."""
        return self._group.client.mpi

    def run(
        self,
        plan: Plan,
        source: Any | None = None,
        destination: Any | None = None,
        *,
        machine: MachineLike | None = None,
        verify: bool = True,
        progress: ProgressCallback | None = None,
        cancel: CancelToken | None = None,
        pipelined: bool = True,
    ) -> Report:
        """Run a plan on the ranks, wait for its end and report on all of them; see `isoviz.Engine.run`.

        - `source`, `destination`: arrays of this process, or paths. Before the run an array travels to the rank that has the
          memory, and afterwards back; the times of the run exclude this. Paths are files of the rank's host. If they are not
          given, the paths in the plan are used. If it names none, data is generated on the rank and discarded there.
        - `machine`: the machine of the plan; the default is `machine` of these ranks.
        - `progress` is called in this thread, with the sums over all ranks. `cancel` is checked before the plan is sent to the
          ranks, and then 20 times a second. Ctrl-C cancels the plan on all ranks, and the ranks stay.

        Raises:
            TransferError: the plan is for another machine, or has a memory on a node without a rank.
            RankLost: a rank ended. RanksClosed: the ranks were closed.
            Exception: what `isoviz.Engine.run` raises; the message names the rank.
        """
        if cancel is not None and cancel.is_set():  # A short plan could end before the ranks hear of it.
            raise Cancelled("cancelled before the ranks began")
        options = {"verify": verify, "pipelined": pipelined}
        submitted = self._submitted([(plan, source, destination)], machine, options, progress is not None)
        return submitted.reports(progress=progress, cancel=cancel)[0]

    def submit(
        self,
        *plans: Plan | tuple[Plan, Any, Any],
        machine: MachineLike | None = None,
        verify: bool = True,
        pipelined: bool = True,
        begins: Sequence[float] | None = None,
    ) -> SubmittedPlans:
        """Run some plans at the same time; returns at once. Plans of a later call run afterwards.

        A plan may be a tuple (plan, source, destination). For these and for the options see `run`. `begins` has, for each plan,
        the seconds after which it begins; by default all begin at once.

        Raises:
            InputError: the number of begins is not that of the plans.
            TransferError: a plan is for another machine, or has a memory on a node without a rank.
            RankLost: a rank ended. RanksClosed: the ranks were closed.
        """
        items = [plan if isinstance(plan, tuple) else (plan, None, None) for plan in plans]
        if begins is not None and len(begins) != len(items):
            raise InputError(f"submit: {len(begins)} begins for {len(items)} plans; expected one for each plan")
        options = {"verify": verify, "pipelined": pipelined, "begins": None if begins is None else list(begins)}
        return self._submitted(items, machine, options, True)

    def prepare(
        self, plan: Plan, source: Any | None = None, destination: Any | None = None, *, machine: MachineLike | None = None
    ) -> PreparedOnRanks:
        """Prepare a plan once, to run it many times: `ranks.prepare(plan).run(1000)`; see `Engine.prepare`.

        Arrays travel to the ranks now, and stay there. The arguments are those of `run`.

        Raises:
            TransferError: the plan is for another machine, has a memory on a node without a rank, or expects other arrays. The
                first run may find out the latter.
            RankError: a rank has no room. RankLost, RanksClosed: the ranks have ended.
        """
        client = self._group.client
        client.require_here()
        with self._submitting:
            return PreparedOnRanks(client, self._machine_of(machine), (plan, source, destination), self._sent)

    def _submitted(
        self, items: Sequence[tuple[Plan, Any, Any]], machine: MachineLike | None, options: Mapping[str, Any], tells: bool
    ) -> SubmittedPlans:
        chosen = self._machine_of(machine)
        client = self._group.client
        client.require_here()  # a forked child must not wait for the lock
        with self._submitting:  # the ranks keep machines and plans in the order in which they are sent
            return SubmittedPlans(client, chosen, items, options, tells, self._sent)

    def _machine_of(self, machine: MachineLike | None) -> Machine:
        return self.machine if machine is None else machine_argument("ranks", machine)

    def _chosen(self, ranks: Sequence[int] | None) -> list[int]:
        chosen: list[int] = list(range(self._count)) if ranks is None else list(ranks)
        for rank in chosen:
            asked: object = rank
            if isinstance(asked, bool) or not isinstance(asked, int) or not 0 <= asked < self._count:
                raise InputError(f"there is no rank {show(asked)}; expected 0 to {self._count - 1}")
        return chosen


def ranks(
    count: int | None = None,
    *,
    cluster: Any = None,
    attach: str | Path | None = None,
    mpiexec: str | Path | None = None,
    python: str | Path | None = None,
    address: str | None = None,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
    heartbeat: float = 0.5,
    silence: float = 6.0,
    start_timeout: float = 60.0,
) -> Ranks:
    """Start MPI ranks and return them once they are ready.

        with isoviz.ranks(4) as ranks:
            report = ranks.run(plan)

    The ranks are separate processes, started with `mpiexec`; this process is not a rank. If a rank dies, this process gets an
    error and goes on. Ctrl-C here does not reach the ranks. When this process ends, in any way, the ranks end, too.

    - `count`: the number of ranks.
    - `cluster`: a running cluster of ipyparallel with MPI engines (a `Cluster` or a `Client`), whose engines become the ranks
      instead. They stay when the ranks are closed. `count` may then be left out. `mpiexec`, `python`, `options` and `environment`
      are not used.
    - `attach`: a file for ranks that another program starts, such as a batch job. This process writes its address and a secret
      into the file, and waits up to `start_timeout` seconds for `count` ranks that run
      `python -P -m isoviz.launch.worker.rank_worker FILE`. They end when the ranks are closed. Put the file into a folder that
      only you can change, not into `/tmp`: a rank obeys the writer of the file, so it refuses a link, and a file that others can
      change. `mpiexec`, `python`, `options` and `environment` are not used.
    - `mpiexec`: the program that starts the ranks, such as that of a site's own MPI. The default is the one in the environment of
      this Python (the extra `mpi` of isoviz).
    - `python`: the Python of the ranks; the default is this one. It needs the same isoviz.
    - `address`: the address of this computer for ranks on other hosts. By default all ranks are on this computer, outside of
      containers. They reach this process through a socket in a folder that only you can enter.
    - `options`: further options for `mpiexec`, such as `("--hostfile", "hosts")`.
    - `environment`: further environment variables for the ranks. Each rank gets its share of the processors for the threads of
      numeric libraries (`NUMBA_NUM_THREADS`, `OMP_NUM_THREADS`, …), unless these variables are set.
    - `heartbeat`, `silence`: seconds between two signs of life of a rank, and seconds of silence after which it is lost. A rank
      of this computer that waits for a processor gets ten times as long.
    - `start_timeout`: seconds after which LaunchError is raised if the ranks have not started.

    With `address`, both ends of a connection prove that they know a secret. No third party can add, change or repeat a command or
    an answer. The connection is not encrypted, and the bytes of arrays could be changed: use a network that you trust.

    Raises:
        InputError: an argument is wrong.
        MissingPartError: there is no MPI in this Python's environment.
        LaunchError: the ranks did not start, or are of another version of isoviz, Python or NumPy.
    """
    times: dict[str, object] = {"heartbeat": heartbeat, "silence": silence, "start_timeout": start_timeout}
    for name, value in times.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST_SECONDS:
            raise InputError(f"ranks: {name}={show(value)}; expected seconds above 0, at most {MOST_SECONDS:g}")
    if silence < 2 * heartbeat:
        raise InputError(f"ranks: silence={silence:g} is less than two heartbeats of {heartbeat:g} s")
    watching = Watching(float(heartbeat), float(silence))
    for name, value in (("mpiexec", mpiexec), ("python", python), ("attach", attach)):
        if value is not None:
            expect(f"ranks, {name}", value, (str, os.PathLike), "a path")
    if address is not None:
        expect("ranks, address", address, str, "the address of this computer as text")
    options = checks.names("ranks, options", options, "further options of mpiexec as texts")
    if environment is not None:
        expect("ranks, environment", environment, Mapping, "texts by name")
        checks.names("ranks, environment", (*environment, *environment.values()), "texts by name")
    if cluster is not None:
        from isoviz.launch.cluster import attached

        asked = None if count is None else check_ranks(count)
        return Ranks(partial(attached, cluster, asked, address, watching), float(start_timeout))
    number = check_ranks(count)
    if attach is not None:
        from isoviz.launch.groups import AwaitedGroup

        return Ranks(partial(AwaitedGroup, number, os.fspath(attach), address, watching), float(start_timeout))
    given = dict(environment or {})
    wanted = Wanted(
        number,
        find_mpi(mpiexec),
        os.fspath(python or sys.executable),
        address,
        tuple(str(option) for option in options),
        thread_limits(number, {**os.environ, **given}) | given,
        watching,
    )
    return Ranks(partial(JobGroup, wanted), float(start_timeout))
