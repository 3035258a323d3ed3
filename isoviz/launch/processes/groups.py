"""The processes of ranks together with the connections to them: a job of `mpiexec`, or a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from isoviz.launch.client import Client, Watching
from isoviz.launch.processes.job import Job
from isoviz.launch.processes.mpi_command import Mpi
from isoviz.launch.worker.rank_worker import ADDRESS, SECRET

HERE = "127.0.0.1"
_MODULE = "isoviz.launch.worker.rank_worker"


class Group(Protocol):
    """Processes and the client that is connected to them. It knows nothing of `Ranks`, so that an unused `Ranks` can go."""

    client: Client

    @property
    def output(self) -> tuple[str, ...]:
        """The last lines that the processes have printed, if they are known."""

    def started(self) -> None:
        """All ranks are ready."""


@dataclass(frozen=True)
class Wanted:
    """How ranks are started: the arguments of `isoviz.ranks`, checked. `variables` are for the environment of the ranks."""

    count: int
    mpi: Mpi
    python: str
    address: str | None
    options: tuple[str, ...]
    variables: Mapping[str, str]
    watching: Watching


class JobGroup:
    """Ranks that `mpiexec` starts for this client alone; they end with it."""

    def __init__(self, wanted: Wanted) -> None:
        host = wanted.address or HERE
        self.job: Job | None = None
        self.client = Client(
            wanted.count,
            host=host,
            watching=wanted.watching,
            end=self._end,
            output=lambda: list(self.output),
            after=f"the ranks were ended; isoviz.ranks({wanted.count}) starts new ones",
        )
        try:
            self.job = Job(
                wanted.mpi,
                wanted.count,
                [wanted.python, "-m", _MODULE],
                options=wanted.options,
                variables={
                    **wanted.variables,
                    ADDRESS: f"{host}:{self.client.port}",
                    SECRET: self.client.secret.hex(),
                },
                remote=wanted.address is not None,
                on_line=self.client.line,
                on_end=self.client.ended,
            )
        except BaseException:
            self.client.drop()
            raise

    @property
    def output(self) -> tuple[str, ...]:
        """The last lines of the job's output."""
        return () if self.job is None else tuple(self.job.output)

    def started(self) -> None:
        """Note the processes and files of the job."""
        if self.job is not None:
            self.job.scan()

    def _end(self, patience: float) -> None:
        if self.job is not None:
            if patience:
                self.job.wait(patience)
            self.job.close()
