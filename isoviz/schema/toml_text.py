"""TOML as text, from anybody: bounded before it is parsed, for the time of the parser grows with the square of a key's length."""

from __future__ import annotations

import re
import tomllib
from typing import Any

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
