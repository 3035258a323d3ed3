"""Sizes, rates and durations as people write them. Data everywhere else is in bytes, seconds and bytes per second."""

from __future__ import annotations

import re

from isoviz.errors import InputError

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_FACTORS = {
    "": 1,
    "b": 1,
    **{
        f"{letter}{suffix}": base**power
        for power, letter in enumerate("kmgtp", start=1)
        for suffix, base in (("ib", 1024), ("b", 1000), ("", 1024))
    },
}


def parse_bytes(text: str | int) -> int:
    """The number of bytes in `"32MiB"`, `"1.5 GB"`, `"4096"` or `4096`.

    `KiB`, `MiB`, … and the bare letters are powers of 1024, `kB`, `MB`, … powers of 1000.

    Raises:
        InputError: not a size, negative, or not a whole number of bytes.
    """
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise InputError(f"size {text!r}: expected a number of bytes such as 65536 or '32MiB'")
    if isinstance(text, int):
        if text < 0:
            raise InputError(f"size {text}: expected a number of bytes, not negative")
        return text
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", text)
    factor = _FACTORS.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise InputError(f"size {text!r}: expected a number with a unit such as '64KiB', '32MiB' or '2GB'")
    value = int(match[1]) * factor if "." not in match[1] else float(match[1]) * factor
    if value != int(value):
        raise InputError(f"size {text!r}: is not a whole number of bytes")
    return int(value)


def format_bytes(count: float) -> str:
    """A size in binary units with three digits: `33554432` → `32 MiB`."""
    value = float(count)
    unit = 0
    while abs(value) >= 1024 and unit < len(_BINARY) - 1:
        value /= 1024
        unit += 1
    return f"{_short(value)} {_BINARY[unit]}"


def format_rate(rate: float) -> str:
    """A rate in decimal units, as vendors and papers give it: `3.18e9` → `3.18 GB/s`."""
    for factor, unit in ((1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if abs(rate) >= factor * 0.9995:
            return f"{_short(rate / factor)} {unit}"
    return f"{_short(rate)} B/s"


def format_seconds(seconds: float) -> str:
    """A duration: `0.0012` → `1.2 ms`."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if abs(seconds) >= factor * 0.9995:
            return f"{_short(seconds / factor)} {unit}"
    return f"{_short(seconds / 1e-9)} ns"


def _short(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"
