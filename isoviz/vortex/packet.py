"""Packets of a VIC, the controller of a node in a Data Vortex: a header and a payload, each a word of 8 bytes.

A header is a whole number. It names the VIC that the packet goes to, what becomes of the payload there, the address in that
VIC's memory, and the group counter that counts the packet:

    1 << 62 | links << 48 | VIC << 32 | what becomes of it << 28 | group counter << 22 | address

Links are how often the packet has been sent on. The other fields are those of Gioiosa et al., section III. How they lie in the
word is not published; this order is isoviz's own.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from isoviz.checks import count, flag_argument
from isoviz.errors import InputError, RunError, show
from isoviz.vortex.traffic import Whole, whole_numbers, within

WORDS = 1 << 22
"""Words of a VIC's memory: 32 MB."""
COUNTERS, BARRIERS, SCRATCH = 64, (61, 62), 63
"""How many group counters a VIC has; those of barriers; and the one that counts packets for which nobody waits."""
MOST_NODES, MOST_PACKETS, MARK = 1 << 16, 1 << 26, 1 << 62
LINK, MOST_LINKS = 48, 1000
"""Where the links begin in a header, and how many a packet may have."""
ENTRIES, PAGE = 8192, (4 << 20) // 8
"""Entries of the table of DMA transactions, and the words of a huge page (section III)."""
NOTHING = np.zeros(1, np.int64)
_NUMBERS = range(-(1 << 63), 1 << 63)


def goes_to(packet_headers: Whole) -> Whole:
    """The VICs that headers name."""
    return packet_headers >> 32 & (MOST_NODES - 1)


class To(IntEnum):
    """What becomes of a packet where it arrives. Programs need `FIFO`; the methods of a `Vic` choose the others."""

    MEMORY = 0
    FIFO = 1
    COUNTER = 2
    RETURNED = 3
    RELEASE = 4
    QUERY = 5
    SEND_ON = 6
    BARRIER = 7


ASKS = To.QUERY
"""From here on, a VIC may send something because of a packet, without its host."""
FIFO = To.FIFO
"""The address of a VIC's FIFO, for `Vic.send` and `header`."""


def header(vics: Any, addresses: Any, counter: int | None = None, *, onward: bool = False) -> Whole:
    """Headers of packets, one for each pair of a VIC and an address (or `FIFO`): words for `Vic.send_on`.

    - `counter` counts the packets at their VICs (None: they are not counted).
    - `onward`: the word at the address is again a header, with which that VIC forwards the packet: a link of a chain.

    Raises:
        InputError: an address is beyond the 32 MB of a VIC, a counter is reserved, the arrays differ in length, or `onward` is
            set for a packet to a FIFO or with a counter.
    """
    flag_argument("header", "onward", onward)
    if onward and (addresses is FIFO or counter is not None):
        raise InputError("header, onward: expected addresses in memories and no counter; only the end of a chain has others")
    return headers("header", vics, addresses, counter, MOST_NODES, To.SEND_ON if onward else To.MEMORY)[0]


def headers(
    call: str, vics: Any, addresses: Any, counter: int | None, nodes: int, to: To = To.MEMORY, values: Whole = NOTHING
) -> tuple[Whole, Whole]:
    """Checked headers for a call of a program, and values of the same length. A single number stands for all packets."""
    if addresses is FIFO and to is To.MEMORY:
        to, addresses = FIFO, 0
    number = SCRATCH if counter is None else group_counter(call, counter)
    mark = MARK | int(to) << 28 | number << 22
    vics = _numbers(f"{call}, vics", vics, nodes, "VICs")
    addresses = _numbers(f"{call}, addresses", addresses, WORDS, "words in the memory of a VIC")
    arrays = vics, addresses, values
    lengths = {len(array) for array in arrays}
    if len(lengths - {1}) > 1:
        raise InputError(f"{call}: expected arrays of one length, got {', '.join(str(len(array)) for array in arrays)}")
    length = 0 if 0 in lengths else max(lengths)
    if length > MOST_PACKETS:
        raise InputError(f"{call}: {length:,} packets; at most {MOST_PACKETS:,} at once")
    made = vics << 32
    made |= mark
    if len(made) == length:
        made |= addresses
    else:
        made = made | addresses
    return _wide(made, length), _wide(values, length)


def _wide(array: Whole, length: int) -> Whole:
    return array if len(array) == length else np.broadcast_to(array, length)


def one_header(vic: Any, address: Any, value: Any, counter: int | None, nodes: int) -> int | None:
    """The checked header of a packet to a memory whose parts are numbers of Python: a tenth of the time of arrays. Else None."""
    if not (vic.__class__ is int and address.__class__ is int and 0 <= vic < nodes and 0 <= address < WORDS):
        return None
    if not (value.__class__ is float or (value.__class__ is int and value in _NUMBERS)):
        return None
    number = SCRATCH if counter is None else group_counter("send", counter)
    found: int = MARK | vic << 32 | number << 22 | address
    return found


def _numbers(what: str, given: Any, below: int, words: str) -> Whole:
    """Checked whole numbers below a limit. An array of them is looked at once: as unsigned numbers, negative ones are great."""
    if given.__class__ is int and 0 <= given < below:
        return np.array([given])
    plain = given.__class__ is np.ndarray and given.dtype == np.int64 and given.ndim == 1 and given.flags.c_contiguous
    if plain and given.size and given.view(np.uint64).max() < below:
        found: Whole = given
        return found
    found = whole_numbers(what, given)
    within(what, found, below, words)
    return found


def group_counter(call: str, counter: object) -> int:
    """A counter that programs may use.

    Raises:
        InputError: there is none of this number, or it is reserved.
    """
    number = count(call, "counter", counter, high=COUNTERS - 1)
    if number == SCRATCH:
        raise InputError(
            f"{call}, counter: {SCRATCH} is the scratch counter, for which nobody can wait; expected 0 to {BARRIERS[0] - 1}"
        )
    if number in BARRIERS:
        raise InputError(f"{call}, counter: {number} is reserved for barriers; expected 0 to {BARRIERS[0] - 1}")
    return number


def words(call: str, values: Any) -> Whole:
    """Values of 8 bytes as the words of packets: a flat array of their bits.

    Raises:
        InputError: they are not arrays of numbers of 8 bytes.
    """
    try:
        array = np.atleast_1d(np.asarray(values))
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{call}: expected numbers of 8 bytes, got {show(values)}") from None
    if array.ndim != 1 or array.dtype.kind not in "iuf" or array.itemsize != 8 or not array.dtype.isnative:
        what = f"{array.ndim} of {array.dtype}"
        raise InputError(
            f"{call}: expected an array of one dimension of numbers of 8 bytes, got {what}; .view() shows others as such"
        )
    return np.ascontiguousarray(array).view(np.int64)


def entries(place: Any, length: int) -> int:
    """Entries of the DMA table for a slice or an array of words: one for each run, and one more for each further huge page."""
    runs = 1 if isinstance(place, slice) else 1 + int((np.diff(place) != 1).sum())
    return runs + max(0, length - 1) // PAGE


def not_sent_on(vic: int, address: int, word: int, links: int) -> RunError:
    """The error of a packet that a VIC should send on, for the last of many times or with a word that is not a header."""
    if links > MOST_LINKS:
        return RunError(
            f"VIC {vic}, address {address}: a packet has been sent on {MOST_LINKS:,} times; do the words form a ring?"
        )
    return RunError(f"VIC {vic}: a packet for address {address} should be sent on with {word}, which is no header")
