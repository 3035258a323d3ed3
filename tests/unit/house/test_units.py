"""Sizes as people write them, and back."""

from __future__ import annotations

import numpy as np
import pytest

from isoviz.errors import InputError, TextError
from isoviz.units import format_bytes, format_rate, format_seconds, format_share, parse_bytes, parse_count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("32MiB", 32 << 20),
        ("32 m", 32 << 20),
        ("1.5 GB", 1_500_000_000),
        ("0.3kB", 300),
        ("4096", 4096),
        (4096, 4096),
        (np.int64(4096), 4096),
        ("9223372036854775807", 2**63 - 1),
        ("8191.5PiB", 16383 * 2**49),
    ],
)
def test_sizes(text: str | int, count: int) -> None:
    found = parse_bytes(text)
    assert found == count
    assert type(found) is int


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("lots", "unit"),
        ("", "unit"),
        ("-5", "unit"),
        ("1e3", "unit"),
        ("5 XB", "unit"),
        pytest.param("9" * 5000, "unit", id="digits"),
        ("1.5B", "whole number of bytes"),
        ("0.0001KiB", "whole number of bytes"),
        ("8192PiB", r"2\^63"),
        (2**63, r"2\^63"),
        pytest.param(10**5000, r"2\^63", id="huge"),
        (-1, "negative"),
        pytest.param(-(10**5000), "negative", id="huge negative"),
        (True, "number of bytes"),
        (1.0, "number of bytes"),
        (None, "number of bytes"),
    ],
)
def test_what_is_no_size(given: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as caught:
        parse_bytes(given)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (format_bytes(32 << 20), "32 MiB"),
        (format_bytes(0), "0 B"),
        (format_bytes(1000), "1,000 B"),
        (format_bytes(999.6 * 1024), "1,000 KiB"),
        (format_bytes((1 << 20) - 1), "1 MiB"),
        (format_rate(3.18e9), "3.18 GB/s"),
        (format_rate(999.6e6), "1 GB/s"),
        (format_seconds(0.0012), "1.2 ms"),
        (format_seconds(999.7), "1,000 s"),
        (format_share(0.00012), "0.012 %"),
        (format_share(0.0751), "7.5 %"),
        (format_share(1.0), "100 %"),
        (format_share(12.5), "1,250 %"),
    ],
)
def test_written_for_people(text: str, written: str) -> None:
    assert text == written


@pytest.mark.parametrize(
    ("text", "position"),
    [("٤MiB", 0), ("4_0MiB", 1), ("4__", 1), ("1٤", 1), ("1.٤", 1), ("4 furlongs", 2), ("", 0), ("  ", 2), ("-4", 0),
     ("4 MiB x", 6), ("1e3", 1), (".5GB", 0), ("1." + "0" * 5000, 0)],
)  # fmt: skip
def test_sizes_that_are_none_are_pointed_into(text: str, position: int) -> None:
    with pytest.raises(TextError) as caught:
        parse_bytes(text)
    assert caught.value.position == position
    assert "expected a number with a unit" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("4096", 4096),
        (" 12 ", 12),
        ("4Ki", 4096),
        ("1e3", 1000),
        ("2^20", 1 << 20),
        ("2**20", 1 << 20),
        ("1_000", 1000),
        ("1,000,000", 1_000_000),
        ("4k", None),
        ("1.5e3", None),
        ("1,00", None),
        ("-1", None),
        ("1e-3", None),
        ("", None),
        ("9" * 101, None),
    ],
)
def test_counts(text: str, count: int | None) -> None:
    assert parse_count(text) == count
