"""JSON as text: read from outside, and written for people."""

from __future__ import annotations

import json
from typing import Any

from isoviz.errors import InputError, MachineError

FREE_PARTS, BYTES_OF_PART = 500_000, 16
"""A text may have so many lists and objects, and one more for so many characters. Empty ones take 50 times the memory of their
text; a machine file has 50 characters for each."""


class Repeated(dict[str, Any]):
    """A JSON object in which a key stood twice; which of the two was meant cannot be known."""

    key: str = ""


def parse(text: str, what: str = "a description of a machine", error: type[InputError] = MachineError) -> Any:
    """The value of a JSON text. Values that JSON does not allow, such as NaN, are kept, so that later checks can refuse them.

    Raises:
        InputError: raised as `error`: the text is not JSON and so not `what`, is nested too deeply, or holds a number of
            thousands of digits or too many lists and objects for its length.
    """
    if text.count("[") + text.count("{") > FREE_PARTS + len(text) // BYTES_OF_PART:
        raise error(f"not {what}: it has hardly anything but brackets")
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as found:
        raise error(f"not JSON: {found.msg} at line {found.lineno}, column {found.colno}") from None
    except RecursionError:
        raise error(f"not {what}: nested too deeply") from None
    except ValueError:
        raise error(f"not {what}: it holds a number of thousands of digits") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    repeated = Repeated(result)
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            repeated.key = key
            break
        seen.add(key)
    return repeated


def format_json(value: Any, indent: str = "") -> str:
    """JSON for people to read and compare: objects over several lines, lists of numbers and of pairs on one."""
    inner = indent + "  "
    if isinstance(value, dict) and value and not _is_flat(value.values()):
        parts = [f"{inner}{json.dumps(key)}: {format_json(part, inner)}" for key, part in value.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(value, list) and value and any(isinstance(part, dict) for part in value):
        return "[\n" + ",\n".join(inner + format_json(part, inner) for part in value) + f"\n{indent}]"
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    # Names of files may be no text. JSON can say such bytes, UTF-8 cannot.
    return text if text.isascii() or _is_text(text) else json.dumps(value, allow_nan=False)


def _is_text(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _is_flat(parts: Any) -> bool:
    return not any(isinstance(part, dict | list) for part in parts)
