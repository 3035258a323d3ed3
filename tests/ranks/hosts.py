"""Several hosts on one computer: network namespaces with host names, a /dev/shm and links of their own.

Each host is a process that waits for the end of its input, then kills what runs on the host, and ends. It holds the namespaces,
which have no names and no files. So nothing is left of them, even if the tests are killed. A bridge in one more namespace joins
the hosts. Nothing outside of these namespaces is touched. Processes, and files elsewhere than in /dev/shm, are those of this
computer.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mpi_jobs import MPIEXEC, environment, is_open_mpi, kill
from waiting import until

_PREFIX = "isohost"
_NET = "10.83.7."
_BURST, _SHORT_BURST = "512k", "64k"
"""Bytes that pass a link without being held up: the shorter ones where figures of small transfers are compared."""
_CLEAR = (
    "set +e; mine=$(readlink /proc/self/ns/net); again=1; while [ $again ]; do again=; for place in /proc/[0-9]*; do"
    " pid=${place#/proc/};"
    ' if [ $pid != $$ ] && [ "$(readlink $place/ns/net)" = "$mine" ] && kill -9 $pid; then again=1; fi; done; done 2>/dev/null'
)
"""Kill the processes in the network namespace of the shell, until there are none."""
_TRIAL = (
    "mount -t tmpfs tmpfs /dev/shm && hostname isohost && ip link set lo up && ip link add name hub0 type bridge"
    " && ip link add p1 type veth peer name eth0 && tc qdisc add dev eth0 root tbf rate 1gbit burst 512k latency 20ms"
)


@functools.cache
def why_not() -> str | None:
    """Why hosts cannot be made here, in words; None if they can."""
    if not sys.platform.startswith("linux"):
        return "several hosts need the namespaces of Linux"
    if os.geteuid() != 0:
        return "several hosts need namespaces, which only root can make here"
    for program, package in (("ip", "iproute2"), ("tc", "iproute2"), ("unshare", "util-linux"), ("nsenter", "util-linux")):
        if shutil.which(program) is None:
            return f"several hosts need the program {program} (Debian package {package})"
    tried = subprocess.run(["unshare", "-m", "-u", "-n", "-i", "sh", "-c", _TRIAL], capture_output=True, text=True, timeout=250)
    if tried.returncode:
        return f"several hosts need namespaces and shaped links, which cannot be made here: {tried.stderr.strip()}"
    return None


class Hosts:
    """Hosts `isohost1`, `isohost2`, … at `addresses`, whose links carry `rate` each way. `folder` gets their /etc/hosts and
    the program that stands for ssh.

    A link leads from each host to a bridge. With `pairs`, a link of its own leads from each host to each other one instead.
    Use it in a `with`. Its end kills what still runs on the hosts.
    """

    def __init__(self, count: int, folder: Path, rate: str = "1gbit", *, pairs: bool = False) -> None:
        self.names = [f"{_PREFIX}{k + 1}" for k in range(count)]
        self.addresses = [f"{_NET}{k + 1}" for k in range(count)]
        self._holders: list[subprocess.Popen[str]] = []
        table = folder / "etc-hosts"
        lines = [f"{address} {name}" for address, name in zip(self.addresses, self.names, strict=True)]
        table.write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))
        try:
            self._hub = self._holder(["-n"], "ip link set lo up; ip link add name hub0 type bridge; ip link set hub0 up")
            own = f"ip link set lo up; mount -t tmpfs tmpfs /dev/shm; mount --bind '{table}' /etc/hosts"
            self._pids = [self._holder(["-m", "-u", "-n", "-i"], f"hostname {name}; {own}") for name in self.names]
            (self._join_pairs if pairs else self._join_by_bridge)(rate)
            self._wait_for_links()
        except BaseException:
            self.close()
            raise
        self.agent = folder / "agent.sh"
        cases = "\n".join(
            f"{address}|{name}) holder={pid};;" for address, name, pid in zip(self.addresses, self.names, self._pids, strict=True)
        )
        # As ssh, it passes on the command, and not the environment.
        self.agent.write_text(
            '#!/bin/sh\nwhile case "$1" in -*) true;; *) false;; esac; do shift; done\n'
            f'case "$1" in\n{cases}\n*) echo "no host $1" >&2; exit 255;; esac\nshift\n'
            f'exec nsenter -t $holder -m -u -n -i env -i HOME=/root PATH="$PATH" LANG=C.UTF-8 sh -c "cd /; $*"\n'
        )
        self.agent.chmod(0o755)

    def _join_by_bridge(self, rate: str) -> None:
        for k, pid in enumerate(self._pids):
            self._ip(self._hub, f"link add p{k} type veth peer name eth0 netns {pid}")
            self._ip(self._hub, f"link set p{k} master hub0 up")
            self._ip(pid, f"addr add {self.addresses[k]}/24 dev eth0")
            self._ip(pid, "link set eth0 up")
            self._shape(rate, _BURST, (pid, "eth0"), (self._hub, f"p{k}"))

    def _join_pairs(self, rate: str) -> None:
        """A host has one address, which all of its links have; the address of the other end leads to the right one."""
        named = {pid: (f"eth{number}" for number in itertools.count()) for pid in self._pids}
        for (here, mine), (there, other) in itertools.combinations(zip(self._pids, self.addresses, strict=True), 2):
            names = next(named[here]), next(named[there])
            self._ip(here, f"link add {names[0]} type veth peer name {names[1]} netns {there}")
            for pid, name, ends in ((here, names[0], (mine, other)), (there, names[1], (other, mine))):
                self._ip(pid, f"addr add {ends[0]} peer {ends[1]} dev {name}")
                self._ip(pid, f"link set {name} up")
            self._shape(rate, _SHORT_BURST, (here, names[0]), (there, names[1]))

    def _shape(self, rate: str, burst: str, *ends: tuple[int, str]) -> None:
        for pid, name in ends:
            shape = "rate", rate, "burst", burst, "latency", "20ms"
            self._within(pid, "tc", "qdisc", "add", "dev", name, "root", "tbf", *shape)

    def _wait_for_links(self) -> None:
        """Wait until each host reaches each other one. A port without a listener answers, too: the connection is refused."""
        code = (
            "import errno, socket, sys, time\n"
            "last = time.monotonic() + 60\n"
            "for address in sys.argv[1:]:\n"
            "    while socket.socket().connect_ex((address, 1)) != errno.ECONNREFUSED:\n"
            "        assert time.monotonic() < last, address + ' is not reached'\n"
        )
        for k in range(len(self.names)):
            subprocess.run(self.on(k, sys.executable, "-S", "-c", code, *self.addresses), check=True, timeout=90)

    def on(self, host: int, *command: str | Path) -> list[str]:
        """The command that runs a command on a host. It keeps the environment."""
        return ["nsenter", "-t", str(self._pids[host]), "-m", "-u", "-n", "-i", "--wd=.", *map(str, command)]

    def mpi_options(self, per_host: int) -> list[str]:
        """Options with which an `mpiexec` on a host starts ranks on all hosts."""
        hosts = ",".join(f"{address}:{per_host}" for address in self.addresses)
        if is_open_mpi():
            return [
                "--host", hosts, "--map-by", f"ppr:{per_host}:node:OVERSUBSCRIBE", "--prtemca", "plm_ssh_agent", str(self.agent),
                "--mca", "pml", "ob1", "--mca", "osc", "^ucx",
                "--mca", "btl", "self,sm,tcp", "--mca", "btl_tcp_if_include", "eth0",
            ]  # fmt: skip
        return ["-launcher", "ssh", "-launcher-exec", str(self.agent), "-hosts", hosts, "-iface", "eth0"]

    def mpiexec(self, per_host: int, *args: str) -> list[str]:
        """The command that starts Python on all hosts. It passes PYTHONPATH on."""
        more = ["-x", "PYTHONPATH"] if is_open_mpi() else []
        ranks = str(per_host * len(self.names))
        return self.on(0, MPIEXEC, *self.mpi_options(per_host), *more, "-n", ranks, sys.executable, *args)

    def start(self, per_host: int, *args: str, seconds: float = 240) -> subprocess.Popen[str]:
        """Start Python on all hosts."""
        pipe, command = subprocess.PIPE, self.mpiexec(per_host, *args)
        return subprocess.Popen(command, env=environment(seconds), stdout=pipe, stderr=pipe, text=True, start_new_session=True)

    def run(self, per_host: int, *args: str, seconds: float = 120) -> str:
        """What a job has printed. Nothing is left of it."""
        job = self.start(per_host, *args, seconds=max(240.0, seconds))
        try:
            out, err = job.communicate(timeout=seconds)
        except BaseException:
            kill(job)
            job.communicate()
            raise
        assert job.returncode == 0, f"{out[-1500:]}\n{err[-3000:]}"
        assert until(lambda: not self.left()), self.left()
        return out

    def run_json(self, per_host: int, *args: str, seconds: float = 120) -> Any:
        """The last line that a job has printed, as JSON."""
        return json.loads(self.run(per_host, *args, seconds=seconds).strip().splitlines()[-1])

    def unplug(self, host: int) -> None:
        """Set the link of a host down."""
        self._ip(self._pids[host], "link set eth0 down")

    def plug_in(self, host: int) -> None:
        """Set the link of a host up again."""
        self._ip(self._pids[host], "link set eth0 up")

    def processes(self, host: int) -> dict[int, str]:
        """What runs on a host: the command of each process by its number."""
        mine = Path(f"/proc/{self._pids[host]}/ns/net").readlink()
        found = {}
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if (place / "ns/net").readlink() == mine and int(place.name) != self._pids[host]:
                    state = (place / "stat").read_text().rpartition(")")[2].split()[0]
                    if state not in "ZX":
                        found[int(place.name)] = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:120]
            except OSError:  # it has just ended
                continue
        return found

    def shared_files(self, host: int) -> list[str]:
        """The files in /dev/shm of a host."""
        return sorted(file.name for file in Path(f"/proc/{self._pids[host]}/root/dev/shm").iterdir())

    def left(self) -> list[str]:
        """What runs on the hosts, and their files in /dev/shm. A process that compiles kernels for later runs ends by itself."""
        processes = [
            f"{name}: {pid} {command}"
            for k, name in enumerate(self.names)
            for pid, command in self.processes(k).items()
            if "isoviz.backends.host.kernels" not in command
        ]
        return [*processes, *(f"{name}: {file}" for k, name in enumerate(self.names) for file in self.shared_files(k))]

    def close(self) -> None:
        """End what runs on the hosts, then the hosts."""
        for holder in self._holders:
            assert holder.stdin is not None and holder.stdout is not None
            holder.stdin.close()
            holder.stdout.close()
        for holder in self._holders:
            holder.wait(120)
        self._holders.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _holder(self, namespaces: list[str], first: str) -> int:
        """Start a process in namespaces of its own; it ends with its input."""
        holder = subprocess.Popen(
            ["unshare", *namespaces, "sh", "-c", f"set -e; {first}; echo ready; while read -r line; do :; done; {_CLEAR}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._holders.append(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n", f"no host: {first}"
        return holder.pid

    def _ip(self, pid: int, arguments: str) -> None:
        self._within(pid, "ip", *arguments.split())

    def _within(self, pid: int, *command: str) -> None:
        done = subprocess.run(["nsenter", "-t", str(pid), "-n", *command], capture_output=True, text=True, timeout=250)
        assert done.returncode == 0, f"{command}: {done.stderr}"
