"""`make constraints`: the versions and digests of everything that the environments of the checkout are made of.

Any `python3` may run this file; so it keeps to the syntax of Python 3.8.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from environment import CONSTRAINTS, NEWEST, OLDEST, ROOT, clean_environment, extras_of, packages, plain, say

OTHER_NEEDS = {"build": ("hatchling", "editables"), "mpich": ("mpich", "mpi4py")}
"""What the environments need beside the extras: the build backend, and the second MPI."""


def constraints(arguments: list[str]) -> int:
    """Resolves every dependency of every extra again, for all supported Pythons at once, into .ci/constraints.txt.

    Each package has the digests of its files, and the extras that need it; `base` is isoviz without extras. With the argument
    `keep`, versions stay as they are wherever they can.
    """
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-I", "-m", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "--target", folder, "uv"], check=True, env=clean_environment())
        pins = Path(folder) / "pins.txt"
        others = {name: Path(folder) / f"{name}.in" for name in OTHER_NEEDS}
        for name, path in others.items():
            path.write_text("\n".join(OTHER_NEEDS[name]), encoding="utf-8")

        def resolved(*options: str) -> str:
            command = [str(Path(folder) / "bin" / "uv"), "pip", "compile", *options, "--quiet", "--no-header", "--no-annotate"]
            return subprocess.run(command, check=True, cwd=folder, stdout=subprocess.PIPE, text=True).stdout

        project, lowest = str(ROOT / "pyproject.toml"), "{}.{}".format(*OLDEST)
        everywhere = ["--universal", "--python-version", lowest, "--no-emit-index-url", "--generate-hashes"]
        if arguments == ["keep"]:
            pins.write_text(plain(CONSTRAINTS.read_text(encoding="utf-8")), encoding="utf-8")
            everywhere += ["--constraints", str(pins)]
        text = resolved(project, *map(str, others.values()), "--all-extras", *everywhere)
        text = re.sub(r"(?m)^(\S+?==[^\s+]+)\+[\w.]+", r"\1", text)  # no local versions
        text = re.sub(r"python_full_version (<|>=) '(\d\.\d+)'", r"python_version \1 '\2'", text)
        # No addresses, options, editable installs or comments.
        text = "".join(line for line in text.splitlines(keepends=True) if re.match(r"[A-Za-z0-9]| +--hash=", line))
        pins.write_text(plain(text), encoding="utf-8")
        asked = {"base": [project], **{extra: [project, "--extra", extra] for extra in extras_of(ROOT / "pyproject.toml")}}
        asked.update({name: [str(path)] for name, path in others.items()})
        needed = {
            extra: set(packages(resolved(*sources, "--universal", "--python-version", lowest, "--constraints", str(pins))))
            for extra, sources in asked.items()
        }
        blocks = []
        for name, block in ((name, block) for name, found in packages(text).items() for block in found):
            users = [extra for extra in needed if name in needed[extra]]
            blocks.append(f"{block}    # {' '.join(['base'] if 'base' in users else users)}\n")
        CONSTRAINTS.write_text("".join(blocks), encoding="utf-8")
        wheels = [project, "--all-extras", "--constraints", str(pins), "--only-binary", ":all:"]
        for minor in range(OLDEST[1], NEWEST[1] + 1):
            resolved(*wheels, "--python-version", f"3.{minor}")
            say(f"resolves, from wheels alone, for Python 3.{minor}")
    return 0
