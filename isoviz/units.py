"""Sizes, rates and durations as people write them. Data everywhere else is in bytes, seconds and bytes per second."""

from __future__ import annotations

import operator
import re

from isoviz.errors import InputError, show

LARGEST_SIZE = 2**63 - 1
"""Bytes; offsets are signed 64-bit numbers everywhere."""

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_FACTORS: dict[str, int] = {
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
        InputError: not a size, negative, 2⁶³ bytes or more, or not a whole number of bytes.
    """
    value = _parsed(text) if isinstance(text, str) else _whole(text)
    if value < 0:
        raise InputError(f"size {show(value)}: expected a number of bytes, not negative")
    if value > LARGEST_SIZE:
        raise InputError(f"size {show(text)}: more than 2^63 - 1 bytes")
    return value


def _parsed(text: str) -> int:
    match = re.fullmatch(r"\s*(\d+)(?:\.(\d+))?\s*([A-Za-z]*)\s*", text) if len(text) <= 100 else None
    factor = _FACTORS.get(match[3].lower()) if match else None
    if match is None or factor is None:
        raise InputError(f"size {show(text)}: expected a number with a unit such as '64KiB', '32MiB' or '2GB'")
    decimals = match[2] or ""
    scale: int = 10 ** len(decimals)
    value, rest = divmod(int(match[1] + decimals) * factor, scale)
    if rest:
        raise InputError(f"size {show(text)}: is not a whole number of bytes")
    return value


def _whole(value: object) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]  # TypeError is the answer for everything else
    except TypeError:
        raise InputError(f"size {show(value)}: expected a number of bytes such as 65536 or '32MiB'") from None


def format_bytes(count: float) -> str:
    """A size in binary units with three digits: `33554432` → `32 MiB`."""
    value = float(count)
    unit = 0
    while abs(value) >= 1023.5 and unit < len(_BINARY) - 1:
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


def format_share(share: float) -> str:
    """A share in two digits: `0.012 %`, `7.5 %`; from 10 % on without a fraction: `38 %`, `1,250 %`."""
    return f"{100 * share:.2g} %" if abs(share) < 0.0995 else f"{100 * share:,.0f} %"


def _short(value: float) -> str:
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"
