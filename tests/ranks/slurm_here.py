"""Slurm on this computer: a controller on one host of `hosts.py`, and a node on each of the others.

The programs are those that are installed, or those of Debian packages in the folder that ISOVIZ_SLURM_PACKAGES names: they are
unpacked there, not installed. This gets them:
`apt-get download slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2 libhwloc15 liblua5.1-0`
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

from hosts import Hosts
from waiting import until

_PROGRAMS = ("slurmctld", "slurmd", "srun", "sbatch", "munged")
_PACKAGES = "slurmctld, slurmd, slurm-client and munge"
FOLDER = "ISOVIZ_SLURM_PACKAGES"


@functools.cache
def why_no_slurm() -> str | None:
    """Why there is no Slurm here, in words; None if there is."""
    if os.environ.get(FOLDER):
        if not list(Path(os.environ[FOLDER]).glob("slurmctld*.deb")) or shutil.which("dpkg") is None:
            return f"{FOLDER} names a folder without the Debian packages {_PACKAGES}, or dpkg is missing"
        return None
    missing = [name for name in _PROGRAMS if shutil.which(name, path=_path("")) is None]
    if missing:
        return (
            f"Slurm needs {', '.join(missing)} (Debian packages {_PACKAGES}: installed, or as files in the folder that {FOLDER}"
            " names)"
        )
    return None


def _daemon_of(root: str, name: str) -> str:
    """The path of a daemon. Debian gives some names an ending until they are installed."""
    for path in (f"{root}/usr/sbin/{name}-wlm", f"{root}/usr/sbin/{name}"):
        if Path(path).exists():
            return path
    return shutil.which(name, path=_path("")) or name


def _path(root: str) -> str:
    return os.pathsep.join([*(f"{root}/usr/{name}" for name in ("bin", "sbin")), *([] if root else ["/bin", "/sbin"])])


class Slurm:
    """A cluster of the hosts: the first one is where users log in. `folder` gets all of its files."""

    def __init__(self, hosts: Hosts, folder: Path, cpus: int = 4) -> None:
        self.hosts, self.folder = hosts, folder
        self._daemons: list[subprocess.Popen[bytes]] = []
        root = self._unpacked()
        plugins = next(Path(f"{root}/usr/lib").glob("*/slurm-wlm"), None) or next(Path(f"{root}/usr/lib").glob("*/slurm"))
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join([_path(root), os.environ["PATH"]]),
            "SLURM_CONF": str(folder / "slurm.conf"),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }
        if root:
            self.environment["LD_LIBRARY_PATH"] = f"{plugins}{os.pathsep}{plugins.parent}"
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        (folder / "slurm.conf").write_text(self._configuration(plugins, cpus))
        try:
            self._start(root)
        except BaseException:
            self.close()
            raise

    def run(self, *command: str | Path, seconds: float = 120) -> str:
        """What a command prints on the first host."""
        done = subprocess.run(
            self.hosts.on(0, *command), env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=seconds
        )
        assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}\n{self.logs()}"
        return done.stdout

    def logs(self) -> str:
        """The last lines of all logs."""
        return "\n".join(f"{log.name}:\n{log.read_text(errors='replace')[-1500:]}" for log in sorted(self.folder.glob("*.log")))

    def close(self) -> None:
        """End all jobs, then the daemons."""
        for daemon in reversed(self._daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait(10)
        self._daemons.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _unpacked(self) -> str:
        """The folder with the programs; empty for those that are installed."""
        packages = os.environ.get(FOLDER)
        if not packages:
            return ""
        root = self.folder / "root"
        for package in sorted(Path(packages).glob("*.deb")):
            subprocess.run(["dpkg", "-x", package, root], check=True, timeout=60)
        return str(root)

    def _configuration(self, plugins: Path, cpus: int) -> str:
        names, addresses, folder = self.hosts.names, self.hosts.addresses, self.folder
        nodes = "\n".join(
            f"NodeName={name} NodeAddr={address} CPUs={cpus}" for name, address in zip(names[1:], addresses[1:], strict=True)
        )
        return f"""
ClusterName=isoviz
SlurmctldHost={names[0]}({addresses[0]})
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
PluginDir={plugins}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
MpiDefault=pmi2
ReturnToService=2
{nodes}
PartitionName=all Nodes={",".join(names[1:])} Default=YES MaxTime=10 State=UP
"""

    def _start(self, root: str) -> None:
        folder = self.folder
        (folder / "state").mkdir()
        munged, slurmctld, slurmd, slurmstepd = (
            _daemon_of(root, name) for name in ("munged", "slurmctld", "slurmd", "slurmstepd")
        )
        self._daemon(
            0, munged, "--foreground", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
            f"--pid-file={folder}/munge.pid", f"--seed-file={folder}/munge.seed", f"--log-file={folder}/munge.log",
        )  # fmt: skip
        assert until((folder / "munge.socket").exists), self.logs()
        self._daemon(0, slurmctld, "-D", "-i")
        for k in range(1, len(self.hosts.names)):
            self._daemon(k, slurmd, "-D", "-N", self.hosts.names[k], "-d", slurmstepd)
        ready = ["sinfo", "-h", "-o", "%D", "-t", "idle"]
        count = str(len(self.hosts.names) - 1)

        def is_ready() -> bool:
            done = subprocess.run(self.hosts.on(0, *ready), env=self.environment, capture_output=True, text=True, timeout=60)
            return done.stdout.strip() == count

        assert until(is_ready), self.logs()

    def _daemon(self, host: int, *command: str) -> None:
        with (self.folder / f"daemon{len(self._daemons)}.log").open("wb") as log:
            self._daemons.append(
                subprocess.Popen(
                    self.hosts.on(host, *command), env=self.environment, stdout=log, stderr=log, start_new_session=True
                )
            )
