"""Vector loads, stores and interleaving as LLVM instructions, which the Python of Numba does not offer.

Addresses are plain integers, and need no alignment unless it is said.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core import config as numba_config
from numba.extending import intrinsic

_numba: Any = numba_config


def _features() -> dict[str, bool]:
    """The processor features that Numba compiles for: all of this processor, unless Numba was told otherwise."""
    if _numba.CPU_FEATURES is not None:
        told = [name.strip() for name in _numba.CPU_FEATURES.split(",") if name.strip()]
        return {name[1:]: name[0] == "+" for name in told}
    return dict(llvm.get_host_cpu_features()) if _numba.ENABLE_AVX and not _numba.CPU_NAME else {}


_FEATURES = _features()
WIDE = 64 if _FEATURES.get("avx512bw") else 32 if _FEATURES.get("avx2") else 16
"""Bytes of a vector register."""
SHUFFLES = bool(_FEATURES.get("avx512vbmi")) and WIDE == 64
"""Whether the processor shuffles the bytes of vectors of 512 bits."""
BYTEWISE = SHUFFLES or WIDE < 64
"""Whether the lines of transposes may be joined at any byte: narrow vectors do so in memory."""
LINE = 64
"""Bytes of a line of the caches."""
FAR = 4096
"""Bytes that are fetched ahead of what is read in sequence."""
LANE = 16
"""Bytes within which processors interleave fastest."""

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _vector(size: int, count: int) -> Any:
    return ir.VectorType(ir.IntType(8 * size), count)


def _at(builder, address, kind, offset: int = 0):
    return builder.inttoptr(builder.add(address, ir.Constant(_I64, offset)), kind.as_pointer())


def _load(builder, address, kind, offset: int = 0):
    value = builder.load(_at(builder, address, kind, offset))
    value.align = 1
    return value


def _store(builder, value, address, offset: int = 0, *, past_caches: bool = False) -> None:
    done = builder.store(value, _at(builder, address, value.type, offset))
    done.align = value.type.count * value.type.element.width // 8 if past_caches else 1
    if past_caches:
        done.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(_I32, 1)]))


def _store_part(builder, line, address, written) -> None:
    """Store the bytes of a line whose bits are set, at any address."""
    bits = ir.VectorType(ir.IntType(1), LINE)
    pointer = line.type.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [line.type, pointer, _I32, bits])
    store = cgutils.get_or_insert_function(builder.module, kind, "llvm.masked.store.v64i8.p0")
    builder.call(store, [line, builder.inttoptr(address, pointer), ir.Constant(_I32, 1), builder.bitcast(written, bits)])


def _picked(builder, one, other, places: list[int]):
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(_I32, len(places)), places))


def interleaver(size: int, width: int):
    """`transpose(source, source_stride, destination, destination_stride)`: 16 / size rows of `width` bytes become width / size
    rows of 16 bytes."""
    rows, columns, lanes = LANE // size, width // size, width // LANE

    @intrinsic
    def transpose(context, source, source_stride, destination, destination_stride):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            source, source_stride, destination, destination_stride = values
            vectors = []
            for row in range(rows):
                vectors.append(_load(builder, source, _vector(size, columns)))
                if row < rows - 1:
                    source = builder.add(source, source_stride)
            half = rows // 2
            low = [place for lane in range(lanes) for k in range(half) for place in (lane * rows + k, columns + lane * rows + k)]
            high = [place + half for place in low]
            for _ in range(rows.bit_length() - 1):
                pairs = list(zip(vectors[:half], vectors[half:], strict=True))
                vectors = [_picked(builder, *pair, places) for pair in pairs for places in (low, high)]
            for lane in range(lanes):
                for vector in vectors:  # Vector j holds column j of each lane.
                    piece = _picked(builder, vector, vector, [lane * rows + k for k in range(rows)]) if lanes > 1 else vector
                    _store(builder, piece, destination)
                    destination = builder.add(destination, destination_stride)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return transpose


def unzipper(size: int, fields: int):
    """`unzip(source, destination, destination_stride)`: contiguous structs of `fields` elements, one vector of them, become a
    vector for each field."""
    count = WIDE // size

    @intrinsic
    def unzip(context, source, destination, destination_stride):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            source, destination, destination_stride = values
            vectors = [_load(builder, source, _vector(size, count), k * WIDE) for k in range(fields)]
            for field in range(fields):
                found = vectors[0]
                for k in range(1, fields):  # After this step, the structs that end in vector k are complete.
                    places = [0] * count
                    for entry in range(count):
                        vector, place = divmod(entry * fields + field, count)
                        places[entry] = count + place if vector == k else (place if k == 1 else entry) if vector < k else 0
                    found = _picked(builder, found, vectors[k], places)
                _store(builder, found, destination)
                destination = builder.add(destination, destination_stride)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), generate

    return unzip


def zipper(size: int, fields: int):
    """`zip(source, source_stride, destination)`: a vector for each field becomes contiguous structs."""
    count = WIDE // size

    @intrinsic
    def zipped(context, source, source_stride, destination):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            source, source_stride, destination = values
            vectors = []
            for _ in range(fields):
                vectors.append(_load(builder, source, _vector(size, count)))
                source = builder.add(source, source_stride)
            for part in range(fields):
                found = vectors[0]
                for k in range(1, fields):
                    places = [0] * count
                    for lane in range(count):
                        entry, field = divmod(part * count + lane, fields)
                        places[lane] = count + entry if field == k else (entry if k == 1 else lane) if field < k else 0
                    found = _picked(builder, found, vectors[k], places)
                _store(builder, found, destination, part * WIDE)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), generate

    return zipped


def block_permuter(vectors: int, *, past_caches: bool):
    """`permute(source, destination, order)`: a block of `vectors` vectors with its words of 4 bytes permuted.

    `order` is the address of 16 words for each vector of the destination and each vector of the source but the first. A word
    chooses from the vector so far (0 to 15) or from that vector of the source (16 to 31). Vectors have 512 bits.
    """
    words = ir.VectorType(_I32, 16)

    @intrinsic
    def permute(context, source, destination, order):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            source, destination, order = values
            kind = ir.FunctionType(words, [words] * 3)
            pick = cgutils.get_or_insert_function(builder.module, kind, "llvm.x86.avx512.vpermi2var.d.512")
            loaded = [_load(builder, source, words, k * 64) for k in range(vectors)]
            done = []
            for there in range(vectors):
                found = loaded[0]
                for k in range(1, vectors):
                    places = _load(builder, order, words, (there * (vectors - 1) + k - 1) * 64)
                    found = builder.call(pick, [found, places, loaded[k]])
                done.append(found)
            for there, found in enumerate(done):
                _store(builder, found, destination, there * 64, past_caches=past_caches)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), generate

    return permute


def _turned(builder, block: list[Any], size: int, times: int, *, back: bool) -> list[Any]:
    """Vectors of elements of `size` bytes, their halves interleaved by element a number of times; `back` separates them again."""
    count, half = 64 // size, len(block) // 2
    low = [place for k in range(count // 2) for place in (k, count + k)]
    high = [place + count // 2 for place in low]
    even, odd = list(range(0, 2 * count, 2)), list(range(1, 2 * count, 2))
    for _ in range(times):
        if back:
            pairs = list(zip(block[::2], block[1::2], strict=True))
            block = [_picked(builder, *pair, places) for places in (even, odd) for pair in pairs]
        else:
            pairs = list(zip(block[:half], block[half:], strict=True))
            block = [_picked(builder, *pair, places) for pair in pairs for places in (low, high)]
    return block


def block_turner(vectors: int, size: int, *, back: bool, past_caches: bool):
    """`turn(source, destination)`: a transposed block of 4 or 8 vectors of 64 bytes, with eight columns of elements of `size`
    bytes, or, `back`, with eight rows.

    Its halves are interleaved by element three times, or separated: that rotates the bits of the element numbers by three.
    """
    kind = _vector(size, 64 // size)

    @intrinsic
    def turn(context, source, destination):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            block = [_load(builder, values[0], kind, k * 64) for k in range(vectors)]
            for k, vector in enumerate(_turned(builder, block, size, 3, back=back)):
                _store(builder, vector, values[1], k * 64, past_caches=past_caches)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 2), generate

    return turn


def line_turner(vectors: int, size: int, *, back: bool):
    """`turn(source, source_step, destination, destination_step)`: vectors of 64 bytes are read, turned as by `block_turner` and
    stored non-temporally as whole lines; the steps are the distances of vectors at each end.

    With `back`, structs become one line per element; without, lines of one field each become structs.
    """
    kind = _vector(size, 64 // size)

    @intrinsic
    def turn(context, source, source_step, destination, destination_step):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            source, source_step, destination, destination_step = values
            block = []
            for k in range(vectors):
                block.append(_load(builder, source, kind))
                if k < vectors - 1:
                    source = builder.add(source, source_step)
            for k, vector in enumerate(_turned(builder, block, size, vectors.bit_length() - 1, back=back)):
                _store(builder, vector, destination, past_caches=True)
                if k < vectors - 1:
                    destination = builder.add(destination, destination_step)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4), generate

    return turn


def line_gatherer(size: int):
    """`gather(source, source_step, destination)`: a line of 64 bytes from pieces of `size` bytes that lie `source_step` apart,
    stored non-temporally."""
    count = 64 // size

    @intrinsic
    def gather(context, source, source_step, destination):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            source, source_step, destination = values
            pieces = []
            for k in range(count):
                pieces.append(_load(builder, source, _vector(4, size // 4)))
                if k < count - 1:
                    source = builder.add(source, source_step)
            while len(pieces) > 1:
                places = list(range(2 * pieces[0].type.count))
                pieces = [_picked(builder, *pair, places) for pair in zip(pieces[::2], pieces[1::2], strict=True)]
            _store(builder, pieces[0], destination, past_caches=True)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 3), generate

    return gather


@intrinsic
def move(context, source, destination, size):  # noqa: ARG001
    """Move a literal number of bytes: 1, 2, 4, 8 or 16."""
    if not isinstance(size, types.IntegerLiteral):
        return None
    kind = _I64 if size.literal_value == 8 else _vector(1, size.literal_value)

    def generate(context, builder, signature, values):  # noqa: ARG001
        value = _load(builder, values[0], kind)
        builder.store(value, _at(builder, values[1], kind)).align = 1
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, size), generate


@intrinsic
def word(context, address):  # noqa: ARG001
    """The integer of 8 bytes at an address. (Numba counts references to arrays, not to addresses.)"""

    def generate(context, builder, signature, values):  # noqa: ARG001
        return builder.load(_at(builder, values[0], _I64))

    return types.int64(types.int64), generate


@intrinsic
def seen(context, address):  # noqa: ARG001
    """The integer of 8 bytes at an address that another thread may change at any time."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        return builder.load_atomic(builder.inttoptr(values[0], _I64.as_pointer()), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic
def line_past_caches(context, source, destination):  # noqa: ARG001
    """Move a line to an aligned address with a non-temporal store."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        kind = _vector(4, WIDE // 4)
        for offset in range(0, LINE, WIDE):
            _store(builder, _load(builder, values[0], kind, offset), values[1], offset, past_caches=True)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def keep_line(context, source, destination):  # noqa: ARG001
    """Move a line between any addresses with ordinary stores."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        for vector in [_load(builder, values[0], _vector(4, WIDE // 4), offset) for offset in range(0, LINE, WIDE)]:
            _store(builder, vector, values[1])
            values = values[0], builder.add(values[1], ir.Constant(_I64, WIDE))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def store_part(context, source, destination, bytes_written):  # noqa: ARG001
    """Move the bytes of a line whose bits are set, between any addresses."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        _store_part(builder, _load(builder, values[0], _vector(1, LINE)), values[1], values[2])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), generate


def _fetcher(level: int):
    """`fetch(address)`: prefetch the line of any address into the caches from one level on."""

    @intrinsic
    def fetch(context, address):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            pointer = _I8.as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [pointer, _I32, _I32, _I32])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            read, locality, data = (ir.Constant(_I32, value) for value in (0, 4 - level, 1))
            builder.call(function, [builder.inttoptr(values[0], pointer), read, locality, data])
            return context.get_dummy_value()

        return types.void(types.int64), generate

    return fetch


fetch = _fetcher(1)
fetch_rows = _fetcher(2)
"""For lines that the first level would not keep until they are read: those of rows far apart share a set there."""


@intrinsic
def some_bytes(context, source, destination, count):  # noqa: ARG001
    """Move any number of bytes with a `memcpy` of LLVM."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        pointer = _I8.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer, _I64, ir.IntType(1)])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.memcpy.p0.p0.i64")
        here, there = (builder.inttoptr(value, pointer) for value in values[:2])
        builder.call(function, [there, here, values[2], ir.Constant(ir.IntType(1), 0)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


@intrinsic
def settle(context):  # noqa: ARG001
    """A store fence: other threads see non-temporal stores only after it."""

    def generate(context, builder, signature, values):  # noqa: ARG001
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), generate
