"""The compiled loop of a helper. It touches no object of Python, so it needs no interpreter while it runs.

Addresses are plain integers. Functions of the C library and the atomics of the processor are called by their addresses, which
come in a table: Numba keeps no function on disk that has such an address in it.
"""

from __future__ import annotations

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from isoviz.backends.host.kernels.compiled.elements import strided
from isoviz.backends.host.kernels.compiled.vectors import settle, word
from isoviz.backends.host.kernels.compiled.walk import _stream as stream
from isoviz.backends.host.kernels.kernel_cache import hash_of, kept
from isoviz.backends.mpi.helper import ring
from isoviz.backends.mpi.helper.ring import (
    ADD,
    ASLEEP,
    BELL,
    BUSY,
    CANCEL,
    CANCELLED,
    CLOSED,
    COPY,
    COUNT,
    DESTINATION,
    DONE,
    ERROR,
    EXPECTED,
    FAILED,
    FROM,
    FUTEX,
    GIVE_WAY,
    INTO,
    LOOPS,
    MOST_REQUESTS,
    OK,
    OP,
    PART,
    PAST,
    POLLS,
    POSTED,
    READ,
    RESULT,
    RUN,
    RUNS,
    SLEEPERS,
    SLOT,
    SLOTS,
    SOURCE,
    STATE,
    STOP,
    SWAP,
    SYSCALL,
    VALUE,
    WRITE,
)

APART = f"helper-{hash_of((__file__, ring.__file__))}"
"""Where the compiled loop is kept."""
SPINS = 200
"""Yields of the processor, each below a microsecond, before the helper sleeps."""
NAP = 50_000_000
"""Nanoseconds that it sleeps at most. Nobody has to wait for that: clients wake it."""
PIECES = 1024
"""Pieces of one call of the system at each end (IOV_MAX of Linux)."""
SERVED, BEGUN, HERE, THERE, WITHIN, TURN, INDEX = range(0, 56, 8)
"""Words of what the helper knows of a client: the last request that it ended; of the next one, whether it has begun, the places
at both ends, the bytes of this run that are moved, the turns of the innermost loop or runs of the table, those of other loops."""
KNOWN = INDEX + 8 * ring.MOST_LOOPS
"""Bytes of what it knows of a client."""
ROOM = KNOWN + 32 * PIECES
"""Bytes of scratch memory before the clients: a time, and the pieces of a call."""
_WAIT, _WAKE, _ALL = 0, 1, 1 << 30
_RUN_COSTS = 32
"""A run takes at least as long as this many bytes of a long one."""
_LONG = 4096
"""Bytes of the runs that go past the caches where a copy is large."""
_I64, _I32 = ir.IntType(64), ir.IntType(32)


def _at(builder, address, kind):
    return builder.inttoptr(address, kind.as_pointer())


@intrinsic
def load(context, address):  # noqa: ARG001
    """The word at an address. This thread reads what follows after it (aarch64: `ldar`)."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        return builder.load_atomic(_at(builder, values[0], _I64), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic
def store(context, address, value):  # noqa: ARG001
    """Write a word. All processors see it after what this thread has written before (aarch64: `stlr`)."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        builder.store_atomic(values[1], _at(builder, values[0], _I64), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def put(context, address, value):  # noqa: ARG001
    """Write a word that this thread alone reads, or that a `store` follows."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        builder.store(values[1], _at(builder, values[0], _I64))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def half_word(context, address):  # noqa: ARG001
    """The integer of 4 bytes at an address."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        return builder.sext(builder.load(_at(builder, values[0], _I32)), _I64)

    return types.int64(types.int64), generate


@intrinsic
def call(context, function, a, b, c, d, e, f, g):  # noqa: ARG001
    """Call the function at an address with whole numbers. One that takes fewer of them does not look at the others."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        kind = ir.FunctionType(_I64, [_I64] * 7)
        return builder.call(_at(builder, values[0], kind), values[1:])

    return types.int64(*[types.int64] * 8), generate


@njit(nogil=True)
def _begin(known, slot):
    """Prepare for a copy."""
    put(known + BEGUN, 1)
    put(known + HERE, word(slot + SOURCE))
    put(known + THERE, word(slot + DESTINATION))
    for at in range(WITHIN, KNOWN, 8):
        put(known + at, 0)


@njit(nogil=True)
def _piece(known, slot):
    """The addresses at both ends of what is left of a run, and its bytes."""
    within = word(known + WITHIN)
    if word(slot + OP) == RUNS:
        run = slot + LOOPS + 24 * word(known + TURN)
        return word(run) + within, word(run + 8) + within, word(run + 16) - within
    return word(known + HERE) + within, word(known + THERE) + within, word(slot + RUN) - within


@njit(nogil=True)
def _turned(known, slot, turns):
    """Go on by some turns of the innermost loop. Whether the copy is at its end."""
    put(known + WITHIN, 0)
    turn = word(known + TURN) + turns
    put(known + TURN, turn)
    if word(slot + OP) == RUNS:
        return turn >= word(slot + COUNT)
    loop = word(slot + COUNT) - 1
    if loop < 0:
        return True
    here, there = word(known + HERE), word(known + THERE)
    at = slot + LOOPS + 24 * loop
    here, there = here + turns * word(at + 8), there + turns * word(at + 16)
    while turn >= word(at):
        if not loop:
            return True
        here, there = here - word(at) * word(at + 8), there - word(at) * word(at + 16)
        put(known + (TURN if loop == word(slot + COUNT) - 1 else INDEX + 8 * loop), 0)
        loop -= 1
        at -= 24
        here, there = here + word(at + 8), there + word(at + 16)
        turn = word(known + INDEX + 8 * loop) + 1
        put(known + INDEX + 8 * loop, turn)
    put(known + HERE, here)
    put(known + THERE, there)
    return False


@njit(nogil=True)
def _copied(here, step, there, by, turns, run, past):
    """Copy runs with a constant step at both ends."""
    if past and run >= _LONG:
        for _ in range(turns):
            stream(here, there, run)
            here += step
            there += by
    else:
        strided(here, step, there, by, turns, run)


@njit(nogil=True)
def _moved(known, slot):
    """Move a part of a copy between addresses of this process. Whether the copy is at its end."""
    left = PART
    loops, past = word(slot + COUNT), word(slot + PAST)
    while left > 0:
        here, there, run = _piece(known, slot)
        turns = 1
        if run > left:
            _copied(here, 0, there, 0, 1, left, past)
            put(known + WITHIN, word(known + WITHIN) + left)
            return False
        if word(slot + OP) == COPY and loops and not word(known + WITHIN):
            at = slot + LOOPS + 24 * (loops - 1)
            turns = min(word(at) - word(known + TURN), max(1, left // max(run, _RUN_COSTS)))
            _copied(here, word(at + 8), there, word(at + 16), turns, run, past)
        else:
            _copied(here, 0, there, 0, 1, run, past)
        left -= turns * max(run, _RUN_COSTS)
        if _turned(known, slot, turns):
            return True
    return False


@njit(nogil=True)
def _added(pieces, count, address, nbytes):
    """Add a piece to those at an end of a call, or to the last one of them if it follows that. Their number."""
    last = pieces + 16 * (count - 1)
    if count and word(last) + word(last + 8) == address:
        put(last + 8, word(last + 8) + nbytes)
        return count
    put(last + 16, address)
    put(last + 24, nbytes)
    return count + 1


@njit(nogil=True)
def _carried(known, slot, pieces, calls):
    """Move a part of a copy from or to memory of another process: 1 at its end, 0 before that, -1 for an error."""
    process, into = word(slot + FROM), word(slot + INTO)
    mine, theirs = pieces, pieces + 16 * PIECES
    here_count = there_count = nbytes = 0
    ended = False
    while nbytes < PART and here_count < PIECES and there_count < PIECES and not ended:
        here, there, run = _piece(known, slot)
        some = min(run, PART - nbytes)
        here_count = _added(mine if into else theirs, here_count, here, some)
        there_count = _added(theirs if into else mine, there_count, there, some)
        nbytes += some
        if some < run:
            put(known + WITHIN, word(known + WITHIN) + some)
        else:
            ended = _turned(known, slot, 1)
    if into:
        found = call(word(calls + WRITE), into, mine, here_count, theirs, there_count, 0, 0)
    else:
        found = call(word(calls + READ), process, mine, there_count, theirs, here_count, 0, 0)
    if found != nbytes:
        put(slot + RESULT, 0 if found >= 0 else half_word(call(word(calls + ERROR), 0, 0, 0, 0, 0, 0, 0)))
        return -1
    return 1 if ended else 0


@njit(nogil=True)
def _serve_part(known, at, pieces, calls):
    """Carry out a part of the next request of the client whose ring lies at an address."""
    number = word(known + SERVED) + 1
    slot = at + SLOTS + SLOT * ((number - 1) % MOST_REQUESTS)
    op = word(slot + OP)
    state = OK
    if load(slot + CANCEL) == number:
        state = CANCELLED
    elif op >= ADD:
        first, second = word(slot + VALUE), 0
        if op > SWAP:
            first, second = word(slot + EXPECTED), first
        change = calls + ERROR + 8 + 16 * (op - ADD) + 2 * (word(slot + COUNT) - 4)
        put(slot + RESULT, call(word(change), word(slot + SOURCE), first, second, 0, 0, 0, 0))
    else:
        if not word(known + BEGUN):
            put(slot + RESULT, 0)
            _begin(known, slot)
        if word(slot + FROM) or word(slot + INTO):
            found = _carried(known, slot, pieces, calls)
            if found == 0:
                return
            if found < 0:
                state = FAILED
        elif not _moved(known, slot):
            return
    put(slot + STATE, state)
    put(known + BEGUN, 0)
    put(known + SERVED, number)
    settle()
    store(at + DONE, number)
    if load(at + SLEEPERS):
        call(word(calls + SYSCALL), word(calls + FUTEX), at + DONE, _WAKE, _ALL, 0, 0, 0)


@njit(nogil=True)
def _has_work(control, rings, count, known):
    """Whether there is something to do."""
    if load(control + STOP):
        return True
    for client in range(count):
        at = load(rings + 8 * client)
        if at and load(at + POSTED) != word(known + client * KNOWN + SERVED) and not load(at + CLOSED):
            return True
    return False


def _serve(control, rings, count, scratch, calls):
    """Serve clients until the control page says stop.

    - `control`: the address of the control page.
    - `rings`, `count`: the table of the addresses of the rings, 0 where there is no client, and its length.
    - `scratch`: `ROOM` bytes, and `KNOWN` for each client, all zero.
    - `calls`: the table of functions (`isoviz.backends.mpi.helper.ring`).
    """
    known, pieces = scratch + ROOM, scratch + KNOWN
    put(scratch + 8, NAP)
    idle = 0
    while not load(control + STOP):
        worked = False
        for client in range(count):
            at = load(rings + 8 * client)
            if at and load(at + POSTED) != word(known + client * KNOWN + SERVED):
                store(at + BUSY, 1)
                settle()  # The rank that drops a client writes `CLOSED` and reads `BUSY`.
                if not load(at + CLOSED):
                    _serve_part(known + client * KNOWN, at, pieces, calls)
                    worked = True
                store(at + BUSY, 0)
        if worked:
            idle = 0
            continue
        idle += 1
        if idle < SPINS or load(control + POLLS):
            call(word(calls + GIVE_WAY), 0, 0, 0, 0, 0, 0, 0)
            continue
        store(control + ASLEEP, 1)
        settle()
        rung = load(control + BELL)
        if not _has_work(control, rings, count, known):
            call(word(calls + SYSCALL), word(calls + FUTEX), control + BELL, _WAIT, rung & 0xFFFFFFFF, scratch, 0, 0)
            if load(control + BELL) != rung:
                idle = 0
        else:
            idle = 0
        store(control + ASLEEP, 0)


serve = kept(_serve, APART)
