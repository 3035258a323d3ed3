"""What a group of ranks has while it lives, and whether any of it is left afterwards."""

from __future__ import annotations

from pathlib import Path

import psutil

from isoviz.launch import guardian
from isoviz.launch.ranks import Ranks


class Belongings:
    """The processes, folders and shared files of ranks."""

    def __init__(self, ranks: Ranks) -> None:
        job = ranks._group.job
        assert job is not None
        self.guardian = psutil.Process(job.pid)
        self.processes = [self.guardian, *self.guardian.children(recursive=True)]
        self.folders = [Path(folder) for folder in job._folders]
        self.files = [Path(file) for file in guardian.mapped_files([process.pid for process in self.processes])]

    @property
    def mpiexec(self) -> psutil.Process:
        return self.guardian.children()[0]

    def left(self) -> list[object]:
        """What is still there."""
        alive = [process for process in self.processes if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
        return [*alive, *(path for path in (*self.folders, *self.files) if path.exists())]


def descriptors() -> int:
    """Open descriptors of this process."""
    return len(list(Path("/proc/self/fd").iterdir()))
