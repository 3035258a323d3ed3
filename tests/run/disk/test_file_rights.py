"""Who may read and write what isoviz writes: nobody who may not do so with the file that it replaces, or that it is from."""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import second_user

import isoviz
from isoviz import machines, planner
from isoviz.backends.disk.file_access import NewFile
from isoviz.cli import main
from isoviz.conversion.convert import convert
from isoviz.errors import FileError
from isoviz.file_rights import Rights
from isoviz.regular_files import final_path, write_text

ROOT = Path(__file__).parents[3]
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
TRANSFER = """
space = {x = 100}
fields = {re = "u4", im = "u4"}
source = {memory = "node0.dsk", layout = "<F, x>", path = "in.npy"}
destination = {memory = "node0.dsk", layout = "<x, F>", path = "out.npy"}
machine = {preset = "local", measure = "assumed"}
"""
AS_CONVERTED = ("--from", "<F, x>", "--to", "<F, x>", "--space", "x=100", "--fields", "v=u1")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o022, 0o000])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture(params=["nameless", "named"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether unfinished files have names, as on a network file system without O_TMPFILE."""
    if request.param == "named":
        no_nameless_files(monkeypatch)
    return str(request.param)


def no_nameless_files(monkeypatch: pytest.MonkeyPatch) -> None:
    really = os.open
    refused = os.O_TMPFILE & ~os.O_DIRECTORY

    def opened(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if flags & refused:
            raise OSError(95, "Operation not supported")
        return really(path, flags, *args, **options)

    monkeypatch.setattr(os, "open", opened)


# ---- another user's file is replaced


@pytest.mark.parametrize("command", ["convert", "run"])
def test_a_planted_mode_is_not_taken_over(command: str, users: second_user.TwoUsers) -> None:
    """In a folder of a group a program with set-user-id bits stands where the result goes: nobody gets one of the victim."""
    team = users.shared / "team"
    plant = 'mkdir -m 2777 "$1" && cd "$1" && cp /bin/true out.npy && chmod 6777 out.npy && stat -c %a out.npy'
    assert users.attacker.run("sh", "-c", plant, "sh", team).stdout == "6777\n"
    made = 'import numpy, sys; numpy.save(sys.argv[1], numpy.zeros(100, [("re", "u4"), ("im", "u4")]))'
    assert users.victim.python(made, team / "in.npy").returncode == 0
    users.victim.writes(team / "h.toml", TRANSFER)
    asked = ["convert", "in.npy", "out.npy", "--from", "<F, x>", "--to", "<x, F>"] if command == "convert" else ["run", "h.toml"]
    done = users.victim.isoviz(*asked, "--overwrite", cwd=team)
    assert done.returncode == 0, done.stderr
    status = (team / "out.npy").stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (second_user.VICTIM, 0o644)


@ROOT_ONLY
def test_root_gives_nothing_to_the_owner_of_what_it_replaces(tmp_path: Path, kind: str) -> None:
    """Nor does it widen a file that its owner had closed."""
    np.arange(100, dtype="u1").tofile(tmp_path / "in.raw")
    for before, after in ((0o6777, 0o644), (0o1600, 0o600), (0o640, 0o600), (0o644, 0o644)):
        out = tmp_path / "out.raw"
        out.touch()
        os.chown(out, second_user.ATTACKER, second_user.ATTACKER)
        out.chmod(before)
        convert(tmp_path / "in.raw", out, "<F, x>", "<F, x>", {"x": 100}, {"v": "u1"}, overwrite=True)
        assert (out.stat().st_uid, mode(out)) == (0, after)


# ---- the user's own file is replaced


def documents(folder: Path) -> dict[str, Callable[[Path], object]]:
    """How each kind of file is written."""
    machine = machines.preset("two-node")
    (folder / "h.toml").write_text(TRANSFER)
    np.save(folder / "in.npy", np.zeros(100, [("re", "u4"), ("im", "u4")]))
    file = planner.load_transfer(folder / "h.toml")
    plan = isoviz.plan(file.transfer, file.machine())
    h = str(folder / "h.toml")

    def command(*words: str) -> Callable[[Path], object]:
        return lambda path: main([*words, str(path)])

    def session(path: Path) -> None:
        from isoviz.widgets.chosen.session_file import save_settings
        from isoviz.widgets.chosen.settings import Settings

        save_settings(Settings(), path)

    def recording(path: Path) -> None:
        from isoviz.runtime.recording import Recording

        Recording({}, {}, {}, "first_come_first_served", ()).save(path)

    return {
        "m.json": lambda path: machines.save(machine, path),
        "p.json": lambda path: planner.save_plan(plan, path),
        "s.json": session,
        "r.json": recording,
        "shown.html": command("show", h, "-o"),
        "simulated.html": command("simulate", h, "-o"),
        "figure.html": command("machine", "--preset", "two-node", "--figure"),
        "copied.json": command("machine", "--preset", "two-node", "-o"),
        "program.lp": command("plan", h, "--lp"),
        "trace.json": command("run", h, "--no-trial", "--overwrite", "--chrome"),
        "page.html": command("run", h, "--no-trial", "--overwrite", "-o"),
        "out.npy": lambda path: convert(folder / "in.npy", path, None, "<x, F>", overwrite=True),
        "ran.npy": lambda path: isoviz.run(plan, str(folder / "in.npy"), str(path)),
    }


@pytest.mark.few(1)
def test_the_mode_of_ones_own_file_is_kept(kind: str, umask: int, tmp_path: Path) -> None:
    for name, write in documents(tmp_path).items():
        for before in (0o600, 0o640, 0o444):
            path = tmp_path / name
            path.unlink(missing_ok=True)
            path.touch()
            path.chmod(before)
            write(path)
            assert path.stat().st_size, name
            assert mode(path) == before & (0o744 | 0o066 & ~umask), (name, oct(before), oct(mode(path)))


@pytest.mark.few(1)
def test_a_new_file_has_the_usual_mode(kind: str, umask: int, tmp_path: Path) -> None:
    for name, write in documents(tmp_path).items():
        path = tmp_path / name
        path.unlink(missing_ok=True)
        write(path)
        assert mode(path) == 0o666 & ~umask, name
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@ROOT_ONLY
def test_rights_of_a_group_go_with_the_group(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "shared.json"
    path.touch()
    os.chown(path, 0, second_user.VICTIM)
    path.chmod(0o664)
    write_text(path, "{}")
    assert (path.stat().st_gid, mode(path)) == (second_user.VICTIM, 0o664)


def access_list(**entries: int) -> bytes:
    """An access control list as Linux stores it: for the owner, a user, the group, the mask and all others."""
    tags = {"owner": 1, "user": 2, "group": 4, "mask": 16, "other": 32}
    parts = [
        struct.pack("<HHI", tags[name], bits, second_user.ATTACKER if name == "user" else 0xFFFFFFFF)
        for name, bits in entries.items()
    ]
    return struct.pack("<I", 2) + b"".join(parts)


def test_lists_of_users(tmp_path: Path, kind: str) -> None:
    """The mask of a list shows as the rights of a group, which has none: it does not get them."""
    path, name = tmp_path / "listed.json", "system.posix_acl_access"
    path.touch()
    acl = access_list(owner=6, user=4, group=0, mask=4, other=0)
    try:
        os.setxattr(path, name, acl)
    except OSError as error:
        pytest.skip(f"no lists here: {error}")
    assert mode(path) == 0o640
    write_text(path, "{}")
    assert (mode(path), os.getxattr(path, name)) == (0o640, acl), "one's own file keeps its list"
    source = tmp_path / "source.raw"
    source.write_bytes(b"secret")
    os.setxattr(source, name, acl)
    convert(source, tmp_path / "new.raw", "<F, x>", "<F, x>", {"x": 6}, {"v": "u1"})
    assert mode(tmp_path / "new.raw") == 0o600, "its group could not read the source"
    # The folder names users for new files.
    os.setxattr(tmp_path, "system.posix_acl_default", access_list(owner=7, user=6, group=4, mask=6, other=0))
    write_text(tmp_path / "usual.json", "{}")
    assert mode(tmp_path / "usual.json") == 0o660, "as any new file there"
    private = tmp_path / "private.json"
    private.unlink(missing_ok=True)
    write_text(private, "{}")
    os.removexattr(private, name)
    private.chmod(0o640)
    write_text(private, "{}")
    assert name not in os.listxattr(private), "nobody whom the folder names gets at a file that had no list"


# ---- content of a private file


@pytest.mark.parametrize("passes", [1, 2])
def test_what_is_converted_stays_as_private_as_it_was(passes: int, kind: str, tmp_path: Path) -> None:
    np.save(tmp_path / "in.npy", np.zeros((256, 256), "f4"))
    for before, after in ((0o600, 0o600), (0o640, 0o640), (0o444, 0o644), (0o604, 0o604)):
        (tmp_path / "in.npy").chmod(before)
        convert(tmp_path / "in.npy", tmp_path / "out.npy", "<F, x, y>", "<F, y, x>", memory_limit="64KiB", passes=passes)
        assert mode(tmp_path / "out.npy") == after
        (tmp_path / "out.npy").chmod(0o666)
        convert(
            tmp_path / "in.npy",
            tmp_path / "out.npy",
            "<F, x, y>",
            "<F, y, x>",
            memory_limit="64KiB",
            passes=passes,
            overwrite=True,
        )
        assert mode(tmp_path / "out.npy") == 0o666 & (before | 0o700)
        (tmp_path / "out.npy").unlink()


@pytest.mark.parametrize("name", ["ran.npy", "out.npy", "page.html", "trace.json", "shown.html", "simulated.html", "program.lp"])
def test_what_is_made_of_a_private_file_is_private(name: str, tmp_path: Path) -> None:
    write = documents(tmp_path)[name]
    for private in ("in.npy", "h.toml"):
        (tmp_path / private).chmod(0o600)
    write(tmp_path / name)
    assert mode(tmp_path / name) == 0o600
    if name == "trace.json":
        assert mode(tmp_path / "out.npy") == 0o600, "the destination of `isoviz run`"


# ---- before a file is complete


def test_nobody_reads_an_unfinished_file(users: second_user.TwoUsers) -> None:
    """On a file system without nameless files it has a name from the first byte on."""
    code = """
import os, sys
import numpy as np
from isoviz.backends.disk.file_access import NewFile
really = os.open
def named(path, flags, *args, **options):
    if flags & os.O_TMPFILE & ~os.O_DIRECTORY:
        raise OSError(95, "Operation not supported")
    return really(path, flags, *args, **options)
os.open = named
os.umask(0)
files = [NewFile("result", 9), NewFile(None, 9, ".")]
for file in files:
    file.write_at(0, np.frombuffer(b"PRIVATE.\\n", "u1"))
print("written", flush=True)
sys.stdin.readline()
files[0].publish()
for file in files:
    file.close()
"""
    with contextlib.ExitStack() as stack:
        writing = users.victim.start(sys.executable, "-P", "-c", code, cwd=users.shared)
        stack.callback(writing.wait)
        stack.callback(writing.kill)
        assert writing.stdout is not None and writing.stdout.readline() == "written\n", writing.communicate()
        parts = sorted(users.shared.iterdir())
        assert len(parts) == 2 and all(mode(part) == 0o600 for part in parts)
        seen = users.attacker.run("sh", "-c", 'cat "$@"', "sh", *parts)
        assert "PRIVATE" not in seen.stdout and seen.stderr.count("Permission denied") == 2
        writing.communicate("\n")
        assert [(path.name, mode(path)) for path in users.shared.iterdir()] == [("result", 0o666)]


def test_scratch_is_private(kind: str, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with contextlib.closing(NewFile(None, 5, tmp_path)) as file:
            assert stat.S_IMODE(os.fstat(file.descriptor).st_mode) == 0o600
    finally:
        os.umask(before)


# ---- links


@ROOT_ONLY
def test_links_of_others_are_not_followed(tmp_path: Path) -> None:
    """A link in a folder of all leads to a file of this user: whoever put it there chose what is replaced."""
    target = tmp_path / "precious"
    target.write_text("mine")
    for links in (1, 2):
        at, names = target, []
        for number in range(links):
            names.append(tmp_path / f"link-{links}-{number}")
            names[-1].symlink_to(at)
            at = names[-1]
        assert final_path(names[-1]) == target, "one's own links are followed"
        os.lchown(names[0], second_user.ATTACKER, second_user.ATTACKER)
        with pytest.raises(FileError, match="is a link of another user"):
            write_text(names[-1], "{}")
        with pytest.raises(FileError, match="is a link of another user"):
            NewFile(names[-1], 5)
    assert target.read_text() == "mine"


@ROOT_ONLY
@pytest.mark.parametrize("name", ["runs.jsonl", "runs.lock", "runs.notes.json"])
def test_the_ledger_follows_no_links_of_others(name: str, tmp_path: Path) -> None:
    from isoviz.runtime.ledger.ledger import Ledger, write_note

    target = tmp_path / "precious"
    if name != "runs.lock":
        target.write_text("mine")
    (tmp_path / name).symlink_to(target)
    os.lchown(tmp_path / name, second_user.ATTACKER, second_user.ATTACKER)
    ledger = Ledger(tmp_path / "runs.jsonl", most_bytes=1)

    class Entry:
        def to_line(self) -> bytes:
            return b"{}\n"

    entry: Any = Entry()
    assert ledger.append(entry) == (name != "runs.jsonl")
    with contextlib.suppress(FileError):
        write_note(ledger.notes, ["key"], "a note")
    assert (target.read_text() if target.exists() else None) == (None if name == "runs.lock" else "mine")


def test_rights_of_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for path in (tmp_path, tmp_path / "missing", tmp_path / "link"):
        assert Rights.of(path) is None
