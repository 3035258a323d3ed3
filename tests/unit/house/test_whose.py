"""What is the user's own alone: owner, mode, and all folders and links that lead to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from isoviz import whose
from isoviz.whose import is_own, problem_above, problem_of

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
SOMEBODY = 4321


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of this user that everybody can enter: what is below pytest's own folders, others cannot reach."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        path = Path(name).resolve()
        path.chmod(0o755)
        yield path


@pytest.mark.parametrize(
    ("mode", "problem", "as_secret"),
    [
        (0o600, None, None),
        (0o700, None, None),
        (0o644, None, "can be read by others"),
        (0o601, None, "can be read by others"),
        (0o620, "can be changed by others", "can be changed by others"),
        (0o602, "can be changed by others", "can be changed by others"),
        (0o1777, "can be changed by others", "can be changed by others"),
    ],
)
def test_modes(mode: int, problem: str | None, as_secret: str | None, place: Path) -> None:
    (file := place / "file").touch()
    (folder := place / "folder").mkdir()
    for each in (file, folder):
        each.chmod(mode)
        assert problem_of(each.stat()) == problem
        assert problem_of(each.stat(), secret=True) == as_secret


@ROOT_ONLY
def test_owners(place: Path) -> None:
    (file := place / "file").touch(0o600)
    assert is_own(file.stat())
    os.chown(file, SOMEBODY, SOMEBODY)
    assert not is_own(file.stat())
    assert problem_of(file.stat()) == "belongs to another user"


@pytest.mark.parametrize(("mode", "safe"), [(0o755, True), (0o1777, True), (0o777, False), (0o775, False), (0o702, False)])
def test_every_folder_on_the_way_counts(mode: int, safe: bool, place: Path) -> None:
    (open_one := place / "open").mkdir()
    (deep := open_one / "a" / "b").mkdir(parents=True, mode=0o755)
    open_one.chmod(mode)
    problem = None if safe else f"others can rename what is in {open_one}"
    for path in (open_one / "a", deep, deep / "missing" / "more", Path(f"{deep}/../b/./"), deep / "file"):
        assert problem_above(path) == problem, path
    assert problem_above(open_one) is None, "its own mode says problem_of"
    (place / "link").symlink_to(deep)
    (place / "relative").symlink_to("open/a/b")
    for path in (place / "link", place / "link" / "file", place / "relative", place / "relative" / "file"):
        assert problem_above(path) == problem, path
    (deep / "out").symlink_to("../../../safe")
    (place / "safe").mkdir(mode=0o755)
    assert problem_above(deep / "out" / "file") == problem, "a link on the way lies where others may put another one"


def test_a_path_below_the_working_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    monkeypatch.chdir(place / "open")
    assert problem_above("file") == f"others can rename what is in {place}/open"
    monkeypatch.chdir(place)
    assert problem_above("file") is None
    assert problem_above("open/file") is not None


def test_what_nobody_can_enter_is_safe(place: Path) -> None:
    """A home of mode 0700 with folders that a umask of 002 made."""
    (home := place / "home").mkdir()
    (cache := home / "cache").mkdir()
    cache.chmod(0o775)
    home.chmod(0o700)
    assert problem_above(cache / "isoviz") is None
    for mode in (0o710, 0o701, 0o755):
        home.chmod(mode)
        assert problem_above(cache / "isoviz") is not None
    home.chmod(0o700)
    (place / "open").mkdir()
    (place / "open").chmod(0o777)
    (cache / "out").symlink_to(place / "open" / "x")
    (cache / "up").symlink_to("../../open/x")
    for link in ("out", "up"):
        assert problem_above(cache / link) == f"others can rename what is in {place}/open"


@ROOT_ONLY
def test_folders_and_links_of_others(place: Path) -> None:
    (theirs := place / "theirs").mkdir(mode=0o755)
    (mine := place / "mine").mkdir(mode=0o755)
    os.chown(theirs, SOMEBODY, SOMEBODY)
    assert problem_above(theirs / "file") == f"{theirs} belongs to another user"
    (link := place / "link").symlink_to(mine)
    assert problem_above(link) is None and problem_above(link / "file") is None
    os.lchown(link, SOMEBODY, SOMEBODY)
    for path in (link, link / "file"):
        assert problem_above(path) == f"the link {link} belongs to another user"


def test_links_in_a_circle(place: Path) -> None:
    (place / "a").symlink_to("b")
    (place / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        problem_above(place / "a")


@ROOT_ONLY
def test_in_a_container_that_knows_few_users(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's root is nobody there: `/home` belongs to it, and a home below is as safe as before."""
    (home := place / "home").mkdir(mode=0o755)
    os.chown(place, 65534, 65534)
    assert problem_above(home / "cache") == f"{place} belongs to another user", "a user like all others, outside of a container"
    monkeypatch.setattr(whose, "_unknown_user", lambda: 65534)
    assert problem_above(home / "cache") is None
    os.chown(home, 65534, 65534)
    assert problem_of(home.stat()) == "belongs to another user"
    os.chown(place, 0, 0)
