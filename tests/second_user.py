"""Two ordinary users for tests: a victim who works with isoviz, and an attacker who has an account on the same computer.

They are numbers, not accounts. Where the tests run as root, their programs give up root; elsewhere they run in a user namespace
in which this user is root. Where neither is possible, the tests are skipped with the reason. The fixture `users` of
`conftest.py` makes both, with a folder that both can reach:

    def test_planted(users: TwoUsers) -> None:
        users.attacker.writes(users.shared / "json.py", "raise SystemExit")
        done = users.victim.python("import isoviz", cwd=users.shared)
        assert done.returncode == 0, done.stderr
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VICTIM, ATTACKER = 1001, 1002
"""User ids, and ids of the groups in which each user is alone."""
PATIENCE = 250.0
Word = str | os.PathLike[str]
"""A word of a command."""

# A Python in the closed home of the user who runs the tests is shown to the two users in a mount namespace: a folder in memory
# takes the place of what is closed, and what is needed of it is shown at its usual path. The arguments are a folder to work in,
# the number of closed folders, these, the number of folders that are needed, these, and the command.
_SHOWN = """
set -e
work=$1; shift; closed=$1; shift; k=0
mount -t tmpfs tmpfs "$work"
while [ $k -lt $closed ]; do eval "closed$k=\\$1"; shift; k=$((k+1)); done
needed=$1; shift; j=0
while [ $j -lt $needed ]; do eval "needed$j=\\$1"; mkdir "$work/$j"; mount --rbind "$1" "$work/$j"; shift; j=$((j+1)); done
k=0; while [ $k -lt $closed ]; do eval "path=\\$closed$k"; mount -t tmpfs -o mode=755 tmpfs "$path"; k=$((k+1)); done
j=0; while [ $j -lt $needed ]; do eval "path=\\$needed$j"; mkdir -p "$path"; mount --rbind "$work/$j" "$path"; j=$((j+1)); done
exec "$@"
"""


def _outside() -> list[str]:
    """What makes this user root, if it is not root: a user namespace with the ids that the system keeps for the user."""
    return [] if os.geteuid() == 0 else ["unshare", "--user", "--map-auto", "--map-root-user", "--"]


def _is_open(folder: Path) -> bool:
    return bool(folder.stat().st_mode & 0o001)


def _closed_and_needed() -> tuple[list[Path], list[Path]]:
    """Folders that others cannot enter, the outermost ones, and what Python and isoviz need inside of them."""
    closed: dict[Path, None] = {}
    needed: dict[Path, None] = {}
    for path in (Path(sys.base_prefix).resolve(), Path(sys.prefix), ROOT):
        for parent in reversed([path, *path.parents]):
            if not _is_open(parent):
                closed[parent] = needed[path] = None
                break
    return list(closed), list(needed)


@functools.cache
def why_not() -> str | None:
    """Why there are no two users here, in words; None if there are."""
    if not sys.platform.startswith("linux"):
        return "two users need the programs setpriv and unshare of Linux"
    place = Path(tempfile.gettempdir()).resolve()
    if not all(map(_is_open, (place, *place.parents))):
        return f"two users need a folder for temporary files that both can enter, and {place} is closed to others"
    for program in ("setpriv", "unshare"):
        if shutil.which(program) is None:
            return f"two users need the program {program} (Debian package util-linux)"
    tried = subprocess.run(
        [*_outside(), "setpriv", "--reuid", "1001", "--regid", "1001", "--clear-groups", "id", "-u"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    if tried.returncode or tried.stdout.strip() != "1001":
        return f"two users need root or a user namespace, and here is neither: {tried.stderr.strip()}"
    if _closed_and_needed()[0]:
        tried = subprocess.run(
            [*_outside(), "unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        if tried.returncode:
            return f"two users need to reach {sys.base_prefix}, which cannot be shown to them here: {tried.stderr.strip()}"
    return None


class User:
    """An ordinary user, with a home that nobody else can enter and an environment that names nothing of another user.

    Copies are made with NumPy unless `ISOVIZ_KERNELS` says otherwise: a new home has no compiled kernels.
    """

    def __init__(self, uid: int, folder: Path) -> None:
        self.uid = uid
        self.home = folder / f"home-of-{uid}"
        self._work = folder / "work"
        _as_root("install", "-d", "-m", "700", "-o", str(uid), "-g", str(uid), str(self.home))

    def command(self, *command: Word, cwd: Path | None = None) -> list[str]:
        """The command that runs a command as this user, in its home unless `cwd` says otherwise."""
        privileges = ["setpriv", "--reuid", str(self.uid), "--regid", str(self.uid), "--clear-groups"]
        closed, needed = _closed_and_needed()
        words: list[Word] = [*_outside()]
        if closed:
            words += ["unshare", "--mount", "sh", "-c", _SHOWN, "sh", self._work]
            words += [str(len(closed)), *closed, str(len(needed)), *needed]
        # `env` looks for the program once the rights of root are gone, as the user would.
        words += [*privileges, "--", "env", "--"]
        words += ["sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", cwd or self.home, *command]
        return [os.fspath(word) for word in words]

    def environment(self, **changes: str) -> dict[str, str]:
        """The variables of this user's programs."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        usual = {"HOME": str(self.home), "ISOVIZ_LEDGER": "off", "ISOVIZ_KERNELS": "numpy", "PYTHONDONTWRITEBYTECODE": "1"}
        return {**kept, **usual, **changes}

    def run(
        self, *command: Word, cwd: Path | None = None, given: str | None = None, **changes: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as this user to its end, in its home unless `cwd` says otherwise. `changes` are of its environment."""
        return subprocess.run(
            self.command(*command, cwd=cwd),
            env=self.environment(**changes),
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def start(self, *command: Word, cwd: Path | None = None, **changes: str) -> subprocess.Popen[str]:
        """Start a command as this user, with pipes for its input and its output."""
        return subprocess.Popen(
            self.command(*command, cwd=cwd),
            env=self.environment(**changes),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def python(self, code: str, *arguments: Word, cwd: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run a piece of Python as this user, with the Python of the tests and its isoviz."""
        return self.run(sys.executable, "-P", "-c", code, *arguments, cwd=cwd, **changes)

    def isoviz(self, *arguments: Word, cwd: Path | None = None, **changes: str) -> subprocess.CompletedProcess[str]:
        """Run the command `isoviz` as this user."""
        return self.run(sys.executable, "-P", "-m", "isoviz", *arguments, cwd=cwd, **changes)

    def writes(self, path: Path, text: str, mode: int = 0o644) -> None:
        """Write a file as this user, with folders on the way."""
        script = 'mkdir -p "$(dirname "$1")" && rm -f "$1" && cat > "$1" && chmod "$2" "$1"'
        done = self.run("sh", "-c", script, "sh", path, f"{mode:o}", given=text)
        assert done.returncode == 0, done.stderr


class TwoUsers:
    """A victim and an attacker, and `shared`, a folder of all (mode 1777, as /tmp) that is below folders of root alone."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="isoviz-users-"))
        self.folder.chmod(0o711)
        (self.folder / "work").mkdir(mode=0o700)
        self.shared = self.folder / "shared"
        _as_root("install", "-d", "-m", "1777", str(self.shared))
        self.victim, self.attacker = User(VICTIM, self.folder), User(ATTACKER, self.folder)

    def close(self) -> None:
        """Remove all files of both."""
        _as_root("rm", "-rf", str(self.folder))


def _as_root(*command: str) -> None:
    subprocess.run([*_outside(), *command], check=True, timeout=PATIENCE)
