"""What a file of isoviz holds, in words: for the errors of readers that expected another one."""

from __future__ import annotations

from typing import Any

from isoviz.schema.json_text import parse
from isoviz.schema.toml_text import parse_toml

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
