"""The folders in which isoviz keeps data of a user. The cache holds what can be made again: compiled kernels, measurements, the
ledger of runs. The folder for the state of programs holds what cannot: the settings of explorers in notebooks.

Compiled kernels are pickles, and loading a pickle runs its code. So the folder belongs to the user alone (mode 0700). A folder
of another user, one that others may write to, or one in whose place others could put another folder, is not used.

On Linux the folder is `$XDG_CACHE_HOME/isoviz`, else `~/.cache/isoviz`; on macOS `~/Library/Caches/isoviz`. If it cannot be used,
the folder for the state of programs takes its place; if that cannot be used either, nothing is kept. The state is in
`$XDG_STATE_HOME/isoviz`, else `~/.local/state/isoviz`; on macOS in `~/Library/Application Support/isoviz`.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import NamedTuple

from isoviz.errors import InputError, line
from isoviz.whose import is_own, problem_above, problem_of

_LOG = logging.getLogger("isoviz")
_AT_THE_ROOT = ((".cache",), (".local",), ("Library",))
"""What a path begins with where an empty `$HOME` was taken for the root of the file system."""
_said: set[str] = set()
"""Warnings of this process; each is logged once."""


_TELLS = ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
"""The variables that say where the folders are."""


class KnownFolder(NamedTuple):
    """A cache folder that was found in the first place: what the variables told, where it is, and which folder it is."""

    told: tuple[str | None, ...]
    path: Path
    folder: tuple[int, ...]


_known: KnownFolder | None = None
"""The one found last: every run asks for it, and to look at all folders above it takes longer than a short run."""


def cache_folder() -> Path | None:
    """The folder of what can be made again, existing and private; None if nothing can be kept.

    Each problem on the way is logged as a warning, once.
    """
    global _known
    told = tuple([os.environ.get(name) for name in _TELLS])
    if _known is not None and _known.told == told and _known.folder == _identity(_known.path):
        return _known.path
    candidates = _candidates()
    found = _first_of(candidates)
    _known = None
    if found is not None and found == candidates[0] and (folder := _identity(found)) is not None:
        _known = KnownFolder(told, found, folder)
    return found


def state_folder() -> Path | None:
    """The folder of what cannot be made again, existing and private; None if nothing can be kept.

    Each problem on the way is logged as a warning, once.
    """
    import platformdirs

    chosen = Path(os.environ.get("XDG_STATE_HOME", ""))
    found = [chosen / "isoviz"] if chosen.is_absolute() else []
    if home() is not None:
        found.append(Path(platformdirs.PlatformDirs("isoviz", appauthor=False).user_state_dir))
    return _first_of([path for path in dict.fromkeys(found) if path.parts[1:2] not in _AT_THE_ROOT])


def _identity(path: Path) -> tuple[int, ...] | None:
    """What tells a folder from another one in its place, or with another owner or mode; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_uid, status.st_gid, status.st_mode


def _first_of(candidates: list[Path]) -> Path | None:
    problems: list[str] = []
    for path in candidates:
        problem = _problem(path)
        if problem is None:
            if problems:
                warn_once(f"isoviz: {problems[0]}; {path} is used instead")
            return path
        problems.append(problem)
    warn_once(f"isoviz: nothing is kept from run to run: {problems[0] if problems else 'this user has no home folder'}")
    return None


def home() -> Path | None:
    """The user's home: `$HOME`, else the system's entry; None if there is none. `/` is never a home."""
    import pwd

    named = Path(os.environ.get("HOME", ""))
    if not named.is_absolute():
        try:
            named = Path(pwd.getpwuid(os.getuid()).pw_dir)
        except KeyError:
            return None
    return named if named.is_absolute() and named != Path("/") else None


def expanded(text: str) -> Path:
    """A path that may begin with `~`.

    Raises:
        InputError: it begins with `~`, and there is no such home.
    """
    path, here = Path(text), home()
    if path.parts[:1] == ("~",) and here is not None:
        return here.joinpath(*path.parts[1:])
    try:
        if path.parts[:1] == ("~",):
            raise RuntimeError
        return path.expanduser()
    except RuntimeError:
        raise InputError(f"{text}: there is no such home folder; write the whole path") from None


def _candidates() -> list[Path]:
    """Places for the folder, the best one first."""
    import platformdirs

    found = []
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if chosen.is_absolute():  # relative ones are to be ignored, says the XDG specification
        found.append(chosen / "isoviz")
    here = home()
    if here is not None:
        usual = platformdirs.PlatformDirs("isoviz", appauthor=False)
        found += [Path(usual.user_cache_dir), Path(usual.user_state_dir) / "cache"]
    # Older versions of the library take an empty $HOME for the root of the file system.
    return [path for path in dict.fromkeys(found) if path.parts[1:2] not in _AT_THE_ROOT]


def own_folder(path: Path) -> Path | None:
    """A folder within one of these folders, made if it is missing, if it is this user's own; None if it cannot be used.

    The problem is logged as a warning, once.
    """
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        problem = _problem_of_folder(path)
    except OSError as error:
        problem = f"{path} cannot be used: {error.strerror or error}"
    if problem is not None:
        warn_once(f"isoviz: {problem}")
    return path if problem is None else None


def _problem(path: Path) -> str | None:
    """Why a folder, made if it is missing, cannot be used; None if it can."""
    try:
        problem = problem_above(path)
        if problem is None and not path.exists():
            for each in reversed([each for each in (path, *path.parents) if not os.path.lexists(each)]):
                each.mkdir(mode=0o700, exist_ok=True)
            problem = problem_above(path)  # In a folder of all, somebody else may have been quicker.
        return _problem_of_folder(path) if problem is None else f"{path} cannot be used: {problem}"
    except (OSError, ValueError) as error:
        return f"{path} cannot be used: {getattr(error, 'strerror', None) or error}"


def _problem_of_folder(path: Path) -> str | None:
    """Why a folder is not this user's own, or cannot be written to; None if all is well. Nobody else may read it afterwards.

    Raises:
        OSError: it is not a folder, or cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        status = os.fstat(descriptor)
        # What others may have put there stays, whatever its mode is made.
        if problem := problem_of(status):
            return f"{path} {problem} (remove it)" if is_own(status) else f"{path} {problem}"
        if status.st_mode & 0o077:
            os.fchmod(descriptor, 0o700)
    finally:
        os.close(descriptor)
    return None if os.access(path, os.W_OK | os.X_OK) else f"{path} cannot be written to"


def warn_once(text: str) -> None:
    """Log a warning, once in this process."""
    if text not in _said:
        _said.add(text)
        _LOG.warning(line(text))
