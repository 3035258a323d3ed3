"""The script of all views, in parts: a notebook keeps a small loader, and a page gets each part once.

`widgets/build.mjs` makes the parts. What a part imports stands in their table, with a digest of all of them, by which a page
keeps two versions of isoviz apart. All files are read at once, so that they stay of one version while isoviz is replaced.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

_STATIC = Path(__file__).parent / "static"
_TABLE: dict[str, Any] = json.loads((_STATIC / "parts.json").read_bytes())
_IMPORTS: dict[str, list[str]] = _TABLE["imports"]
_PARTS = {name: (_STATIC / name).read_bytes() for name in _IMPORTS}
_FIRST = ("explorer.js", "explorer.css")

LOADER = (_STATIC / "loader.js").read_text(encoding="utf-8")
"""What brings the parts: the module that is kept with each view, and stands in each page that is saved."""
STYLE = _PARTS["explorer.css"].decode()
"""The style sheet of all views."""
SCRIPTS = tuple(name for name in _IMPORTS if name.endswith(".js"))
"""The names of the parts but for the style sheet."""


class Parts(NamedTuple):
    """Parts for a page: the message, and the files that go with it."""

    message: dict[str, Any]
    buffers: list[bytes]


def parts_of_view(pane: str) -> frozenset[str]:
    """The names of the parts that a view needs to be drawn first. The part of a pane has its name, where it has one."""
    own = f"{pane}.js"
    return _with_imports([*_FIRST, own] if own in _IMPORTS else _FIRST)


def message_of(names: Iterable[str]) -> Parts:
    """A message with these parts; names that are unknown are left out."""
    known = sorted(set(names) & _IMPORTS.keys())
    return Parts({"kind": "parts", "hash": _TABLE["hash"], "names": known}, [_PARTS[name] for name in known])


def asked_for(content: object) -> list[str] | None:
    """The names of the parts that a message asks for, none of another version; None where it is not such a message."""
    if not isinstance(content, Mapping) or content.get("kind") != "parts":
        return None
    names = content.get("names")
    if content.get("hash") != _TABLE["hash"] or not isinstance(names, list):
        return []
    return [name for name in names if isinstance(name, str)]


@lru_cache(maxsize=len(_PARTS))
def packed(name: str) -> bytes:
    """A part, compressed (gzip): for pages that are saved."""
    return gzip.compress(_PARTS[name], 9, mtime=0)


def _with_imports(names: Iterable[str]) -> frozenset[str]:
    found = frozenset(names)
    further = found.union(*(_IMPORTS[name] for name in found))
    return found if further == found else _with_imports(further)
