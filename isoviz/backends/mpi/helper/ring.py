"""The words by which a client and a helper tell each other what to do and how far they are.

A ring has a head of `SLOTS` bytes and then `MOST_REQUESTS` slots. The client writes a request into a slot and then its number to
`POSTED`; the helper carries requests out in their order, writes how each ended into its slot, and then its number to `DONE`. The
control page is the helper's, for all of its clients. Offsets are in bytes; each word has 8.
"""

from __future__ import annotations

MOST_REQUESTS = 64
"""Requests of one client under way at most."""
MOST_LOOPS = 8
"""Loops of a copy at most."""
MOST_RUNS = 60
"""Runs of a request with a table at most: as many entries as a descriptor of the paper has (section 5.2)."""
PART = 1 << 20
"""Bytes between two looks at a cancel and at other clients."""

BELL, ASLEEP, STOP, POLLS = range(0, 256, 64)
"""Words of the control page, each in a cache line of its own: how often clients rang, whether the helper sleeps, whether it has
to end, whether it never sleeps."""
POSTED, DONE, SLEEPERS, CLOSED, BUSY = range(0, 320, 64)
"""Words of the head of a ring. The client writes `POSTED` and `SLEEPERS`, the helper `DONE` and `BUSY`, its rank `CLOSED`."""
SLOTS, SLOT = 4096, 2048
"""Where the slots begin, and the bytes of each."""
RING = SLOTS + MOST_REQUESTS * SLOT
"""The bytes of a ring."""

COPY, RUNS, ADD, SWAP, CAS = range(1, 6)
"""What a request asks for (`OP`)."""
OP, FROM, INTO, SOURCE, DESTINATION, RUN, COUNT, PAST, LOOPS = range(0, 72, 8)
"""Words of a copy: the process whose memory is read and the one whose is written (0: this one has it), the addresses of the first
byte at both ends, the bytes of a run, the number of loops, whether long runs go past the caches; then for each loop its turns,
its step in the source and its step in the destination, slowest first. `RUNS` has the number of runs in `COUNT`, and from `LOOPS`
on the source, the destination and the bytes of each."""
VALUE, EXPECTED = DESTINATION, RUN
"""Words of a read-modify-write. Its word is at `SOURCE` and has as many bytes as `COUNT` says."""
CANCEL, STATE, RESULT = SLOT - 128, SLOT - 64, SLOT - 56
"""Words of a slot beside the request: the number of the request that is to stop; how it ended; what a word held before, or the
number of the system's error."""
OK, CANCELLED, FAILED = range(3)
"""How a request ended (`STATE`)."""
READ, WRITE, SYSCALL, GIVE_WAY, ERROR, FUTEX = 0, 8, 16, 24, 40, 32
"""The table of functions that a helper calls: `process_vm_readv`, `process_vm_writev`, `syscall`, `sched_yield`, the number of
the call for futexes, `__errno_location`; then the atomics on 4 and on 8 bytes: fetch and add, swap, compare and swap."""
assert LOOPS + 24 * MOST_RUNS <= CANCEL
