"""Sizes, rates and durations as people write them. All other code uses bytes, seconds and bytes per second."""

from __future__ import annotations

import operator
import re

from isoviz.errors import InputError, TextError, show

LARGEST_SIZE = 2**63 - 1
"""Largest size in bytes, as offsets are signed 64-bit numbers."""

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SIZE = re.compile(r"\s*(?P<whole>[0-9]*)(?:(?<=[0-9])\.(?P<decimals>[0-9]+))?\s*(?P<unit>[A-Za-z]*)\s*")
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

    `KiB`, `MiB`, … and the bare letters are powers of 1024; `kB`, `MB`, … are powers of 1000.

    Raises:
        TextError: the text is not a size; the error points at the wrong character.
        InputError: the size is negative, 2⁶³ bytes or more, or no whole number of bytes.
    """
    value = _parsed(text) if isinstance(text, str) else _whole(text)
    if value < 0:
        raise InputError(f"size {show(value)}: expected a number of bytes, not negative")
    if value > LARGEST_SIZE:
        raise InputError(f"size {show(text)}: more than 2^63 - 1 bytes")
    return value


def _parsed(text: str) -> int:
    match = _SIZE.match(text)
    assert match is not None  # every part of it may be missing
    factor = _FACTORS.get(match["unit"].lower())
    wrong = match.start("unit") if match["whole"] and factor is None else match.end()
    if not match["whole"] or factor is None or wrong < len(text) or len(text) > 100:
        found = f"found {text[wrong]!r}" if wrong < len(text) else "the text ends"
        if match["whole"] and match["unit"] and factor is None:
            found = f"{show(match['unit'])} is no unit"
        elif wrong == len(text) > 100:
            wrong, found = 0, "it has more than a hundred characters"
        raise TextError("size", text, wrong, found, "a number with a unit such as '64KiB', '32MiB' or '2GB'")
    decimals = match["decimals"] or ""
    scale: int = 10 ** len(decimals)
    value, rest = divmod(int(match["whole"] + decimals) * factor, scale)
    if rest:
        raise InputError(f"size {show(text)}: is not a whole number of bytes")
    return value


_COUNT = re.compile(
    r"(?P<whole>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+(?:_[0-9]+)*)(?:(?P<unit>[KkMmGgTt]i)|[eE](?P<tens>[0-9]{1,2})|(?:\^|\*\*)(?P<power>[0-9]{1,2}))?"
)
COUNTS = "4096, 4Ki, 1e3, 2^20 or 1_000"
"""Ways to write a count."""


def parse_count(text: str) -> int | None:
    """The whole number in `"4096"`, `"4,096"`, `"1_000"`, `"4Ki"`, `"1e3"`, `"2^20"` or `"2**20"`; None where it is none.

    `Ki`, `Mi`, `Gi` and `Ti` are powers of 1024. A bare `k` is none: to some it is 1000, to others 1024.
    """
    match = _COUNT.fullmatch(text.strip()) if len(text) <= 100 else None
    if match is None:
        return None
    whole = int(match["whole"].replace(",", "").replace("_", ""))
    if match["unit"]:
        return whole * _FACTORS[f"{match['unit'].lower()}b"]
    if match["power"]:
        return int(whole ** int(match["power"]))
    return whole * int(10 ** int(match["tens"] or 0))


def _whole(value: object) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]  # TypeError is the answer for everything else
    except TypeError:
        raise InputError(f"size {show(value)}: expected a number of bytes such as 65536 or '32MiB'") from None


_QUANTITY = re.compile(
    r"\s*(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)?(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)\s*(?P<unit>\S*)\s*"
)
_RATES = {
    "": 1.0,
    "b/s": 1.0,
    **{
        f"{letter}{suffix}/s": float(base**power)
        for power, letter in enumerate("kmgt", start=1)
        for suffix, base in (("ib", 1024), ("b", 1000))
    },
}
_SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}


def parse_rate(text: str) -> float:
    """The bytes per second in `"3 GB/s"`, `"250MB/s"` or `"1.5e9"`. `kB`, `MB`, … are powers of 1000, `KiB`, `MiB`, … of 1024.

    Raises:
        InputError: the text is not a rate.
    """
    return _quantity("rate", text, _RATES, "'3 GB/s' or '250 MB/s'")


def parse_seconds(text: str) -> float:
    """The seconds in `"5 µs"`, `"1.2 ms"`, `"20us"` or `"0.5"`.

    Raises:
        InputError: the text is not a duration.
    """
    return _quantity("time", text, _SECONDS, "'5 µs' or '1.2 ms'")


def _quantity(what: str, text: str, units: dict[str, float], example: str) -> float:
    match = _QUANTITY.fullmatch(text) if len(text) <= 100 else None
    unit = None if match is None else units.get(match["unit"].lower())
    if match is None or unit is None or not any(char.isdigit() for char in match["number"]):
        raise InputError(f"{what} {show(text)}: expected a number with a unit such as {example}")
    try:
        return float(match["number"].replace(",", "")) * unit
    except (ValueError, OverflowError):
        raise InputError(f"{what} {show(text)}: expected a number with a unit such as {example}") from None


def format_bytes(count: float) -> str:
    """A size in binary units with three digits: `33554432` → `32 MiB`."""
    value = float(count)
    unit = 0
    while abs(value) >= 1023.5 and unit < len(_BINARY) - 1:
        value /= 1024
        unit += 1
    return f"{_short(value)} {_BINARY[unit]}"


def format_rate(rate: float) -> str:
    """A rate in decimal units, as vendors and papers write it: `3.18e9` → `3.18 GB/s`."""
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


def format_ratio(measured: float, predicted: float) -> str:
    """A measured value as a multiple of the predicted one."""
    return f"{measured / predicted:.2f}×" if predicted > 0 else "–"


def format_share(share: float) -> str:
    """A share in two digits: `0.012 %`, `7.5 %`; from 10 % on without a fraction: `38 %`, `1,250 %`."""
    return f"{100 * share:.2g} %" if abs(share) < 0.0995 else f"{100 * share:,.0f} %"


def _short(value: float) -> str:
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"
