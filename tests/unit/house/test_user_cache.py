"""The folder for what can be made again: where it is, that it is private, and what happens where there is none."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoviz import user_cache
from isoviz.errors import InputError
from isoviz.runtime.ledger.ledger import ledger

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="where Linux keeps caches")


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and nothing said yet."""
    monkeypatch.setattr(user_cache, "_said", set())
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture
def said() -> Iterator[list[str]]:
    """What is logged."""
    messages: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("isoviz").addHandler(handler)
    yield messages
    logging.getLogger("isoviz").removeHandler(handler)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@LINUX
def test_where_it_is(places: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    assert user_cache.cache_folder() == places / "home" / ".cache" / "isoviz"
    for word in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", word)
        assert user_cache.cache_folder() == places / "home" / ".cache" / "isoviz"
    monkeypatch.setenv("XDG_CACHE_HOME", str(places / "chosen"))
    assert user_cache.cache_folder() == places / "chosen" / "isoviz"
    assert not said


def test_it_is_private_whatever_the_umask(places: Path) -> None:
    before = os.umask(0)
    try:
        found = user_cache.cache_folder()
    finally:
        os.umask(before)
    assert found is not None and found.is_dir()
    while found != places:
        assert mode(found) == 0o700, found
        found = found.parent


@LINUX
def test_one_that_others_may_read_is_made_private(places: Path, said: list[str]) -> None:
    """Those that were made before are: what they hold stays."""
    path = places / "home" / ".cache" / "isoviz"
    path.mkdir(parents=True)
    path.chmod(0o755)
    (path / "runs.jsonl").write_text("{}\n")
    assert user_cache.cache_folder() == path and mode(path) == 0o700 and (path / "runs.jsonl").exists()
    assert not said


@LINUX
@pytest.mark.parametrize("shared", [0o770, 0o707, 0o777, 0o1777])
def test_one_that_others_may_write_to_is_refused(shared: int, places: Path, said: list[str]) -> None:
    """Anybody could have put a pickle there. Another folder is used, and that is said once."""
    path = places / "home" / ".cache" / "isoviz"
    path.mkdir(parents=True)
    path.chmod(shared)
    other = places / "home" / ".local" / "state" / "isoviz" / "cache"
    assert user_cache.cache_folder() == user_cache.cache_folder() == other
    assert mode(path) == shared and mode(other) == 0o700
    assert len(said) == 1 and str(path) in said[0] and str(other) in said[0] and "(remove it)" in said[0]


@LINUX
def test_one_of_another_user_is_refused(places: Path, said: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = places / "home" / ".cache" / "isoviz"
    path.mkdir(parents=True, mode=0o700)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert user_cache.cache_folder() is None, "nothing is made in the home of another user, either"
    assert len(said) == 1 and "another user" in said[0]
    if me:
        return
    os.chown(path, 4321, 4321)
    monkeypatch.setattr(os, "geteuid", lambda: me)
    assert user_cache.cache_folder() == places / "home" / ".local" / "state" / "isoviz" / "cache"
    assert len(said) == 2 and "another user" in said[1]


@pytest.mark.parametrize("name", ["", "/", "relative/home"])
def test_a_home_that_is_none(name: str, monkeypatch: pytest.MonkeyPatch, places: Path) -> None:
    """Nothing is ever put into the root of the file system, nor into the working folder; what the system says counts."""
    import pwd

    monkeypatch.chdir(places)
    monkeypatch.setenv("HOME", name)
    found = user_cache._candidates()
    said = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert user_cache.home() == (None if name == "/" or said == Path("/") else said)
    for path in found:
        assert path.is_absolute() and path.is_relative_to(said) and said != Path("/")


def test_without_a_home_and_a_cache(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> None:
    """A user whom the system does not know: everything works, nothing is kept, and that is said once."""
    import pwd

    def unknown(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("ISOVIZ_LEDGER")
    for _ in range(2):
        assert user_cache.cache_folder() is None
        assert ledger() is None
    assert len(said) == 1 and "nothing is kept" in said[0]
    with pytest.raises(InputError, match="whole path"):
        user_cache.expanded("~/runs.jsonl")
    monkeypatch.setenv("ISOVIZ_LEDGER", "~/runs.jsonl")
    with pytest.raises(InputError, match="whole path"):
        ledger()


def test_paths_that_begin_with_the_home(places: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    assert user_cache.expanded("~/a/b") == places / "home" / "a" / "b"
    assert user_cache.expanded("a/~/b") == Path("a/~/b")
    monkeypatch.setenv("HOME", "")
    assert user_cache.expanded("~/a") == Path(pwd.getpwuid(os.getuid()).pw_dir) / "a"
    with pytest.raises(InputError, match="no such home"):
        user_cache.expanded("~nobody-of-this-name/a")


@pytest.mark.parametrize("command", [["machine", "--list"], ["history"], ["plan", "transfer.toml"]])
@pytest.mark.few(1)
def test_commands_without_a_cache(command: list[str], places: Path) -> None:
    """A file where the folders would be: commands do their work, or say in one line that they cannot."""
    (places / "home").write_text("in the way")
    (places / "transfer.toml").write_text(
        '[space]\nx = 100\n[fields]\na = "float32"\n[source]\nmemory = "node0.sys"\nlayout = "<F, x>"\n'
        '[destination]\nmemory = "node0.sys"\nlayout = "<x, F>"\n'
    )
    kept = {
        name: value for name, value in os.environ.items() if name not in ("ISOVIZ_LEDGER", "XDG_CACHE_HOME", "XDG_STATE_HOME")
    }
    done = subprocess.run(
        [sys.executable, "-c", "import sys; from isoviz.cli import main; sys.exit(main())", *command],
        cwd=places,
        env={**kept, "HOME": str(places / "home")},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode == (2 if command == ["history"] else 0), done.stderr
    assert done.stderr.count("nothing is kept") == (0 if "--list" in command else 1), done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in places.iterdir()) == ["home", "transfer.toml"]


@LINUX
def test_a_known_folder_is_looked_at_again_when_it_changed(places: Path, said: list[str]) -> None:
    """The answer is kept only for the same folder with the same mode."""
    path = user_cache.cache_folder()
    assert path == places / "home" / ".cache" / "isoviz" == user_cache.cache_folder()
    path.chmod(0o755)
    assert user_cache.cache_folder() == path and mode(path) == 0o700
    path.rmdir()
    assert user_cache.cache_folder() == path and path.is_dir() and mode(path) == 0o700
    path.rmdir()
    path.write_text("in the way")
    assert user_cache.cache_folder() != path and said
