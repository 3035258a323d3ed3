"""`isoviz lab`: JupyterLab on working copies of the notebooks, opened at the explorer.

The notebooks of the package are never opened themselves. A user changes and runs copies in `isoviz-lab/`, below the folder that
JupyterLab serves. A kernel imports modules from the folder of its notebook, so `isoviz-lab/` has to be the user's own.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import logging
import os
import platform
import stat
import sys
from pathlib import Path
from typing import Any, NoReturn

from isoviz.cli.output import tell, whole_number
from isoviz.errors import FileError, InputError, MissingPartError, printable
from isoviz.regular_files import write_text
from isoviz.whose import is_own, problem_above, problem_of

_LOG = logging.getLogger(__name__)
FOLDER = "isoviz-lab"
NOTEBOOK = "explorer.ipynb"


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command `lab`."""
    parser = subparsers.add_parser(
        "lab",
        help="open the explorer in JupyterLab",
        description=f"Open JupyterLab on a working copy of the explorer ({FOLDER}/{NOTEBOOK} in the served folder). "
        "Without a display, the address is printed.",
    )
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="the folder to serve (default: this one, unless others can rename what is in it)"
    )
    parser.add_argument(
        "--port", type=whole_number, metavar="PORT", help="the port to listen on (default: 8888 or the next free one)"
    )
    parser.add_argument("--ip", default="localhost", metavar="ADDRESS", help="the address to listen on (default: localhost)")
    parser.add_argument("--no-browser", action="store_true", help="open no window; print the address")
    parser.add_argument("--fresh", action="store_true", help="set edited working copies aside and start from new ones")
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Start JupyterLab in place of this process."""
    if importlib.util.find_spec("jupyterlab") is None or importlib.util.find_spec("anywidget") is None:
        raise MissingPartError("JupyterLab", "lab")
    root = (args.dir or Path()).resolve()
    if not root.is_dir():
        raise FileError(f"{args.dir}: no such folder to serve")
    if args.port is not None and not 0 <= args.port <= 65535:
        raise InputError(f"port {args.port}: expected a number from 0 to 65535")
    if args.dir is None:  # A folder that the user names is the user's choice.
        check_above(root / FOLDER)
    copy = working_copy(shipped_notebook(), root / FOLDER, fresh=args.fresh)
    for each in notebooks_beside():
        working_copy(each, root / FOLDER, fresh=args.fresh, name=each.name)
    start(server_command(root, copy, ip=args.ip, port=args.port, browser=not args.no_browser and has_display()))


def shipped_notebook(name: str = NOTEBOOK) -> Path:
    """A notebook that came with this isoviz: inside the package, or beside it in a checkout.

    Raises:
        FileError: the installation is incomplete.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if (folder / name).is_file():
            return folder / name
    raise FileError(f"this installation of isoviz has no {name}; install isoviz again")


def notebooks_beside() -> list[Path]:
    """The notebooks that stand beside the explorer in their order: those of the course, such as `1-layouts.ipynb`.

    Raises:
        FileError: the installation is incomplete.
    """
    return sorted(each for each in shipped_notebook().parent.glob("*.ipynb") if each.name != NOTEBOOK)


def check_above(folder: Path) -> None:
    """Have a folder be where nobody else can put another one.

    Raises:
        FileError: somebody can.
    """
    problem = problem_above(folder)
    if problem is not None:
        raise FileError(f"{folder}: {problem}, and notebooks with it; name a folder to serve with --dir, such as --dir ~")


def check_own(folder: Path) -> None:
    """Have a folder be the user's own, and no link of somebody else.

    Raises:
        FileError: it is not.
        OSError: it cannot be looked at.
    """
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode) and is_own(status):
        status = folder.stat()
    problem = problem_of(status)
    if problem is not None:
        raise FileError(
            f"{folder} {problem}, and notebooks import modules from their folder; move it away, or name another folder with --dir"
        )


def working_copy(shipped: Path, folder: Path, *, fresh: bool = False, name: str = NOTEBOOK) -> Path:
    """The copy of `shipped` in `folder`, called `name`, made or updated without loss of the user's work.

    A copy with edited cells stays as it is, unless `fresh`: then it is renamed and replaced.

    Raises:
        FileError: the folder cannot be written, or somebody else can change it, or the copy in it is another user's.
    """
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        check_own(folder)
        notebook = json.loads(shipped.read_text(encoding="utf-8"))
        digest = _cells_digest(notebook)
        copy = folder / name
        if copy.exists():
            if not is_own(copy.stat()):
                raise FileError(f"{copy}: belongs to another user; remove it, or name another folder with --dir")
            origin, now = _origin_and_state(copy)
            if now in (digest, None) and not fresh:
                return copy
            if now != origin:  # the user's own work
                if not fresh:
                    if origin != digest:
                        _say(f"{copy} holds your edits; this isoviz has a newer {Path(name).stem}: `isoviz lab --fresh` opens it")
                    return copy
                aside = _unused(folder, name)
                copy.rename(aside)
                _say(f"the former working copy is now {aside}")
        notebook["metadata"]["isoviz"] = {"origin": digest}
        write_text(copy, json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        return copy
    except OSError as problem:
        raise FileError(
            f"cannot write the working copy in {folder}: {problem.strerror}; name another folder with --dir"
        ) from problem


def _origin_and_state(copy: Path) -> tuple[str | None, str | None]:
    """The digest of the cells that a copy was made from, and of its cells now; None if they cannot be read."""
    try:
        notebook = json.loads(copy.read_text(encoding="utf-8"))
        return notebook["metadata"].get("isoviz", {}).get("origin"), _cells_digest(notebook)
    except (ValueError, KeyError, TypeError, AttributeError):
        _LOG.debug("%s cannot be read as a notebook, and counts as edited", copy, exc_info=True)
        return None, "unreadable"


def _cells_digest(notebook: dict[str, Any]) -> str:
    """A digest of the sources of the cells, without outputs and counts."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    return hashlib.sha256(json.dumps(cells).encode()).hexdigest()


def _unused(folder: Path, name: str) -> Path:
    number = 1
    while (path := folder / f"{Path(name).stem}-{number}.ipynb").exists():
        number += 1
    return path


def has_display() -> bool:
    """Whether a browser window can open here."""
    if platform.system() == "Linux":
        return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return not os.environ.get("SSH_CONNECTION")


def server_command(root: Path, notebook: Path, *, ip: str, port: int | None, browser: bool) -> list[str]:
    """The command that serves `root` and opens `notebook`.

    As root, JupyterLab starts only when told so.
    """
    options = [
        f"--ServerApp.root_dir={root}",
        f"--ServerApp.ip={ip}",
        f"--LabApp.default_url=/lab/tree/{notebook.relative_to(root).as_posix()}",
        "--log-level=WARN",
    ]
    if port is not None:
        options.append(f"--ServerApp.port={port}")
    if not browser:
        options.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    return [sys.executable, "-P", "-m", "jupyterlab", *options]


def start(command: list[str]) -> NoReturn:
    """Run the server in place of this process, so that signals reach it and no process is left at its end."""
    environment = dict(os.environ)
    # A kernel named python3 in the user's own data folder must not take the place of this environment's.
    environment["JUPYTER_PREFER_ENV_PATH"] = "1"
    # Defaults of ours, below the user's own settings: no prompt about news, and no request behind it.
    ours = str(Path(__file__).parent / "jupyter")
    environment["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, (environment.get("JUPYTER_CONFIG_PATH"), ours)))
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(command[0], command, environment)  # noqa: S606  (no shell, and every part is ours)


def _say(text: str) -> None:
    tell(f"isoviz: {printable(text)}")
