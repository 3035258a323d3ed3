"""What a file of isoviz holds, in words: for the errors of readers that expected another one."""

from __future__ import annotations

import re
import tomllib
from typing import Any

from isoviz.schema.json_text import parse

# TOML as text, from anybody: bounded before it is parsed, for the time of the parser grows with the square of a key's
# length.

LARGEST_TOML = 1 << 20
"""The largest TOML file in bytes. A transfer file has a few hundred bytes; a larger file is probably data."""
MOST_PARTS = 16
"""Parts of a dotted key."""
MOST_KEYS = 10_000
"""Parts of all keys, tables and lists together: each part takes up to a kilobyte of memory."""
_STRING = (
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)',
    r"'''.*?(?:'''|\Z)",
    r'"(?:[^"\\\n]|\\[^\n])*"?',
    r"'[^'\n]*'?",
)
_TEXT = re.compile("|".join((*_STRING, "#[^\n]*")), re.DOTALL)
"""Strings and comments. What begins as one is one, even without an end, so nothing is searched twice."""


def parse_toml(content: bytes | str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        ValueError: it is not TOML, not UTF-8, or larger than a file for people; or it holds a number with thousands of digits.
        RecursionError: it is nested too deeply.
    """
    if len(content) > LARGEST_TOML:
        raise ValueError(f"larger than {LARGEST_TOML >> 20} MiB")
    text = content if isinstance(content, str) else content.decode()
    bare = _TEXT.sub(lambda found: "" if found[0].startswith("#") else "s", text)
    most = max(part.count(".") for part in re.split(r"[\n=,\[\]{}]", bare)) + 1
    if most > MOST_PARTS:
        raise ValueError(f"a key of {most} parts; expected at most {MOST_PARTS}")
    count = sum(map(bare.count, ".=[{"))
    if count > MOST_KEYS:
        raise ValueError(f"{count} parts of keys, tables and lists; expected at most {MOST_KEYS}")
    return tomllib.loads(text)


_HOLDS = {
    "isoviz machine": ("a machine", "machines.load"),
    "isoviz-plan-": ("a plan", "planner.load_plan"),
    "isoviz-redistribution-": ("the plan of a redistribution", "redistribution.redistribution_from_json"),
    "isoviz-trace-": ("a trace", "Trace.from_json"),
}
"""What files hold and what reads it, by how their format begins."""
_SESSION = "a session", "explore(session=…)"
_TRANSFER = "a transfer", "planner.load_transfer"


def misplaced(content: bytes | str, expected: str) -> str:
    """What is wrong with a file that a reader cannot read, where it is another file of isoviz than `expected`, such as "a plan".

    Empty where it is as expected, or no file of isoviz.
    """
    text = content if isinstance(content, str) else content.decode(errors="replace")
    try:
        data = parse(text) if text.lstrip().startswith("{") else parse_toml(text)
    except (ValueError, RecursionError):
        return ""
    known = _held(data)
    return "" if known is None or known[0] == expected else f"holds {known[0]}; expected {expected} ({known[1]} reads it)"


def _held(data: dict[str, Any]) -> tuple[str, str] | None:
    if data.get("isoviz") == "session":
        return _SESSION
    if "format" not in data:
        return _TRANSFER if {"space", "fields", "source", "destination"} <= set(data) else None
    return next((known for name, known in _HOLDS.items() if str(data["format"]).startswith(name)), None)
