"""What isoviz keeps and believes later is the user's own: nobody else can put it there, or another folder in its place."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import second_user

from isoviz import user_cache
from isoviz.errors import FileError
from isoviz.regular_files import read_own, write_text

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
TELLS = "import logging; logging.basicConfig(); from isoviz import user_cache; print(user_cache.{0}())"


def test_a_cache_whose_place_others_can_give_away(users: second_user.TwoUsers) -> None:
    """A project folder of a group: the cache in it can be renamed, and another one put there."""
    group = users.folder / "group"
    group.mkdir()
    for mode, above in ((0o2777, group), (0o1777, group), (0o777, group)):
        group.chmod(mode)
        done = users.victim.python(TELLS.format("cache_folder"), XDG_CACHE_HOME=str(group / f"{mode:o}" / "cache"))
        assert done.returncode == 0, done.stderr
        if mode & 0o1000:
            assert done.stdout.strip() == f"{group}/{mode:o}/cache/isoviz" and done.stderr == ""
        else:
            assert done.stdout.strip() == f"{users.victim.home}/.local/state/isoviz/cache"
            assert f"others can rename what is in {above}" in done.stderr
            assert not (group / f"{mode:o}").exists(), "nothing is made there"


def test_a_process_that_had_asked_before_asks_again(users: second_user.TwoUsers) -> None:
    """The folder becomes another one after the first look: its kernels are not loaded."""
    code = """
import os, sys
from isoviz.backends.host.kernels import kernel_cache as cache
assert cache.can_keep()
place = cache.folder()
print(place, flush=True)
sys.stdin.readline()
print(cache.is_complete(), cache.folder() == place, cache.folder().is_relative_to(os.environ["HOME"]))
"""
    shared = users.shared / "cache"
    with users.victim.start(sys.executable, "-P", "-c", code, XDG_CACHE_HOME=str(shared)) as asking:
        assert asking.stdout is not None and asking.stdin is not None
        place = Path(asking.stdout.readline().strip())
        assert place.is_relative_to(shared)
        shared.chmod(0o777)
        users.attacker.run("mv", shared / "isoviz", shared / "away")
        planted = place / "walk.py311.nbi"
        users.attacker.writes(planted, "a pickle")
        digest = hashlib.sha256(b"a pickle").hexdigest()
        users.attacker.writes(place / "complete", json.dumps({planted.name: digest}))
        out, err = asking.communicate("\n")
    assert out.split() == ["False", "False", "True"], err


def test_what_others_put_into_an_open_folder_stays_unused(users: second_user.TwoUsers) -> None:
    """It was open to all once, and its owner has closed it since: what is in it may still be another's."""
    caches = users.victim.home / ".cache"
    asks = "from isoviz.backends.host.kernels import kernel_cache as c; print(c.can_keep(), c.is_complete(), c.folder())"
    first = users.victim.python(asks)
    assert first.stdout.startswith("True False"), first.stderr
    place = Path(first.stdout.split()[2])
    users.victim.home.chmod(0o755)
    for folder in (caches, caches / "isoviz", place):
        folder.chmod(0o777)
    users.attacker.writes(place / "compiled" / "walk.py-1.py311.nbi", "a pickle")
    for folder in (place, caches / "isoviz", caches):
        folder.chmod(0o700)
    done = users.victim.python("import logging; logging.basicConfig(); " + asks)
    assert done.stdout.startswith("False False"), done.stderr
    assert f"belongs to another user, so no kernels are kept; remove {place}" in done.stderr


@pytest.mark.parametrize("folder", ["cache_folder", "state_folder"])
def test_a_link_of_another_user_closes_no_folder(folder: str, users: second_user.TwoUsers) -> None:
    """A link to a folder of the victim: it is neither used nor made private."""
    public = users.victim.home / "public"
    users.victim.writes(public / "page.html", "for all")
    users.victim.home.chmod(0o755)
    public.chmod(0o755)
    users.attacker.run("ln", "-s", public, users.shared / "isoviz")
    variable = "XDG_CACHE_HOME" if folder == "cache_folder" else "XDG_STATE_HOME"
    done = users.victim.python(TELLS.format(folder), **{variable: str(users.shared)})
    assert done.stdout.strip() in ("None", f"{users.victim.home}/.local/state/isoviz/cache"), done.stderr
    assert "the link" in done.stderr and "belongs to another user" in done.stderr
    assert public.stat().st_mode & 0o777 == 0o755


def test_folders_with_links_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small home whose caches are elsewhere."""
    (tmp_path / "scratch").mkdir()
    (tmp_path / "cache").symlink_to("scratch")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert user_cache.cache_folder() == tmp_path / "cache" / "isoviz"
    assert (tmp_path / "scratch" / "isoviz").stat().st_mode & 0o777 == 0o700
    assert user_cache.own_folder(tmp_path / "cache" / "isoviz" / "sessions") is not None


@ROOT_ONLY
def test_a_folder_within_that_is_another_users(tmp_path: Path) -> None:
    (theirs := tmp_path / "cuda").mkdir()
    os.chown(theirs, second_user.ATTACKER, second_user.ATTACKER)
    assert user_cache.own_folder(theirs) is None
    (tmp_path / "file").touch()
    assert user_cache.own_folder(tmp_path / "file") is None


@pytest.mark.parametrize("umask", [0o022, 0o002, 0o000])
def test_what_is_kept_is_believed_again(umask: int, tmp_path: Path) -> None:
    """Also by users whose files a group may write."""
    before = os.umask(umask)
    try:
        write_text(tmp_path / "kept.json", "{}", private=True)
    finally:
        os.umask(before)
    assert read_own(tmp_path / "kept.json") == b"{}"
    (tmp_path / "kept.json").chmod(0o664)
    with pytest.raises(FileError, match="can be changed by others; remove it"):
        read_own(tmp_path / "kept.json")
    (tmp_path / "link").symlink_to("kept.json")
    with pytest.raises(FileError, match="is a link"):
        read_own(tmp_path / "link")


def kept_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[Path, object]]:
    """Every kind of file that is kept: where it is, and a function that says whether it is believed."""
    from isoviz.backends.cuda.kernels import compile_kernels
    from isoviz.backends.host.kernels import kernel_cache, tuning
    from isoviz.backends.host.kernels.choices import Choices
    from isoviz.machines import preset
    from isoviz.measure import kept_measurements
    from isoviz.widgets.chosen import kept_sessions
    from isoviz.widgets.chosen.settings import Settings

    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    measured = preset("local", measure="assumed")
    place = kept_sessions.CellPlace("a.ipynb", "cell")
    other = replace(Settings(), planner="simple")
    assert kept_measurements.keep_probe(measured, "node0.dsk", folder)
    assert kept_sessions.keep(place, Settings(), other) == ""
    assert kernel_cache.can_keep()
    tuning._keep(tuning.Kept(Choices(), 1, True))
    own = user_cache.own_folder(folder / "isoviz" / "cuda")
    assert own is not None
    compile_kernels._keep(own / "kernel", compile_kernels.CompiledKernel(b"code", None))
    key = kept_measurements._probe_key(folder)
    tuned = tuning.place()
    assert tuned is not None

    def measurement() -> bool:
        """Whether the file is read; one that this version did not measure counts as read."""
        file = kept_measurements._file("probe", key)
        try:
            return bool(json.loads(read_own(file))["format"] == kept_measurements.PROBE_FORMAT)
        except FileError:
            assert kept_measurements.kept_probe(folder) is None
            return False

    return {
        "measurement": (kept_measurements._file("probe", key), measurement),
        "session": (folder / "isoviz" / "sessions" / place.file_name, lambda: kept_sessions.kept(place, Settings()).settings),
        "tuning": (tuned, lambda: tuning.kept()),
        "cuda": (own / "kernel", lambda: compile_kernels.kept(own / "kernel")),
    }


@ROOT_ONLY
@pytest.mark.parametrize("kind", ["measurement", "session", "tuning", "cuda"])
@pytest.mark.parametrize("wrong", ["owner", "mode", "link"])
def test_each_kind_of_kept_file(kind: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, believed = kept_files(tmp_path, monkeypatch)[kind]
    assert believed()  # type: ignore[operator]
    assert path.stat().st_mode & 0o777 == 0o600
    if wrong == "owner":
        os.chown(path, second_user.ATTACKER, second_user.ATTACKER)
    elif wrong == "mode":
        path.chmod(0o666)
    else:
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    assert not believed()  # type: ignore[operator]
