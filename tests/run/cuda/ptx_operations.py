"""The operations of PTX that the executor knows, each as C++ that computes on the registers of a thread.

`A`, `B`, `C`, `E` are operands, `D(x)` sets the result, `V(I[n])` is the operand in column n of the instruction's row.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

SHARED_AT = 1024
"""Address of the first byte of shared memory."""
WIDTH = {kind + size: int(size) for size in ("8", "16", "32", "64") for kind in "usb"}
"""Bits of each type."""
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">="}

Operation = tuple[str, str]


def c_type(t: str) -> str:
    return f"{'int' if t[0] == 's' else 'uint'}{WIDTH[t]}_t"


def _arithmetic(t: str) -> Iterator[Operation]:
    bits, typed, plain = WIDTH[t], c_type(t), f"uint{WIDTH[t]}_t"
    a, b, c = f"({typed})A", f"({typed})B", f"({plain})C"
    for name, sign in (("add", "+"), ("sub", "-"), ("mul.lo", "*")):
        yield f"{name}.{t}", f"D(({plain})(({plain})A {sign} ({plain})B));"
    yield f"mad.lo.{t}", f"D(({plain})(({plain})A * ({plain})B + {c}));"
    for name, sign in (("div", "/"), ("rem", "%")):
        yield f"{name}.{t}", f'if (!({plain})B) return fail("division by zero"); D(({plain})({a} {sign} {b}));'
    for name, sign in (("min", "<"), ("max", ">")):
        yield f"{name}.{t}", f"D(({plain})({a} {sign} {b} ? {a} : {b}));"
    yield f"neg.{t}", f"D(({plain})(0 - ({plain})A));"
    yield f"shr.{t}", f"D(({plain})((uint32_t)B >= {bits} ? {a} < 0 ? -1 : 0 : {a} >> (uint32_t)B));"
    yield f"mov.{t}", f"D(({plain})A);"
    yield f"selp.{t}", f"D(({plain})(C ? A : B));"
    for name, sign in _COMPARE.items():
        yield f"setp.{name}.{t}", f"D(({a} {sign} {b}));"


def _bits(size: int) -> Iterator[Operation]:
    plain = f"uint{size}_t"
    yield f"shl.b{size}", f"D(({plain})((uint32_t)B >= {size} ? 0 : ({plain})A << (uint32_t)B));"
    yield f"not.b{size}", f"D(({plain})~A);"
    for name, sign in (("and", "&"), ("or", "|"), ("xor", "^")):
        yield f"{name}.b{size}", f"D(({plain})(A {sign} B));"


def _wide(size: int) -> Iterator[Operation]:
    for sign in "us":
        wide, narrow = c_type(f"{sign}{2 * size}"), c_type(f"{sign}{size}")
        product = f"({wide})({narrow})A * ({wide})({narrow})B"
        yield f"mul.wide.{sign}{size}", f"D((uint{2 * size}_t)({product}));"
        yield f"mad.wide.{sign}{size}", f"D((uint{2 * size}_t)({product} + ({wide})C));"
        yield f"mul.hi.{sign}{size}", f"D((uint{size}_t)(({product}) >> {size}));"


def _truth() -> Iterator[Operation]:
    for name, sign in (("and", "&"), ("or", "|"), ("xor", "^")):
        yield f"{name}.pred", f"D((A != 0) {sign} (B != 0));"
    yield "not.pred", "D(!A);"
    yield "mov.pred", "D(A != 0);"


def _conversions() -> Iterator[Operation]:
    for to, start in itertools.product(WIDTH, WIDTH):
        if to[0] != "b" and start[0] != "b":
            yield f"cvt.{to}.{start}", f"D((uint{max(16, WIDTH[to])}_t)({c_type(to)})({c_type(start)})A);"
    yield "cvta.to.global.u64", "D(A);"


def _bytes() -> Iterator[Operation]:
    yield "prmt.b32", "D(prmt((uint32_t)A, (uint32_t)B, (uint32_t)C));"
    for size in (32, 64):
        t, last = f"uint{size}_t", size - 1
        field = f"(n > {last} ? ~({t})0 : (({t})1 << n) - 1)"
        yield f"bfe.u{size}", f"const uint32_t p = B & 255, n = C & 255; D(p > {last} || !n ? 0 : ({t})A >> p & {field});"
        mask, moved = f"p > {last} ? 0 : {field} << p", f"p > {last} ? 0 : ({t})A << p & m"
        yield f"bfi.b{size}", f"const uint32_t p = C & 255, n = E & 255; const {t} m = {mask}; D((({t})B & ~m) | ({moved}));"
    both = "(uint64_t)(uint32_t)B << 32 | (uint32_t)A"
    yield "shf.l.wrap.b32", f"D((uint32_t)((({both}) << (C & 31)) >> 32));"
    yield "shf.r.wrap.b32", f"D((uint32_t)(({both}) >> (C & 31)));"
    for one, other in itertools.product("us", "us"):
        a, b = (("int8_t", "uint8_t")[sign == "u"] for sign in (one, other))
        terms = " + ".join(f"(int64_t)({a})(A >> {at}) * ({b})(B >> {at})" for at in (0, 8, 16, 24))
        yield f"dp4a.{one}32.{other}32", f"D((uint32_t)({terms} + (int64_t)C));"
    for one, other, half in itertools.product("us", "us", ("lo", "hi")):
        a, b = ("int16_t", "uint16_t")[one == "u"], ("int8_t", "uint8_t")[other == "u"]
        at = 0 if half == "lo" else 16
        first, second = f"({a})A * ({b})(B >> {at})", f"({a})(A >> 16) * ({b})(B >> {at + 8})"
        yield f"dp2a.{half}.{one}32.{other}32", f"D((uint32_t)((int64_t){first} + (int64_t){second} + (int64_t)C));"


def _packs(count: int, size: int) -> Iterator[Operation]:
    mask = f"{(1 << size) - 1}ull"
    packed = " | ".join(f"(V(I[{3 + k}]) & {mask}) << {size * k}" for k in range(count))
    unpacked = " ".join(f"R[I[{3 + k}]] = whole >> {size * k} & {mask};" for k in range(count))
    yield f"pack.{count}.{size}", f"R[I[7]] = {packed};"
    yield f"unpack.{count}.{size}", f"const uint64_t whole = A; {unpacked}"


def _accesses(count: int, size: int) -> Iterator[Operation]:
    """Loads and stores of `count` registers with `size` bits each."""
    n, total = size // 8, size * count // 8
    each = f"for (int k = 0; k < {count}; ++k)"
    far, near = f"(uint{size}_t*)(at + k * {n})", f"(uint{size}_t*)(room + at - {SHARED_AT} + k * {n})"
    get, put = "R[I[3 + k]] = *{};", f"*{{}} = (uint{size}_t)V(I[3 + k]);"
    start = "const uint64_t at = A + I[10]; if (!{}) return FAILED; "
    loads = f"{{ {get.format(far)} if (doubted) doubts[I[3 + k]] = 0; }}"
    yield f"ld.global.{count}.{size}", start.format(f"source_ok(at, {total}, me, pc)") + f"{each} {loads}"
    yield f"st.global.{count}.{size}", start.format(f"destination_ok(at, {total}, me, pc)") + f"{each} {put.format(far)}"
    start = start.replace("uint64_t", "uint32_t")
    doubt = f"if (doubted) doubts[I[3 + k]] = doubts_of(at + k * {n}, {n}, me);"
    loads = f"{{ {get.format(near)} {doubt} }}"
    yield f"ld.shared.{count}.{size}", start.format(f"shared_ok(at, {total}, me, false, pc)") + f"{each} {loads}"
    yield f"st.shared.{count}.{size}", start.format(f"shared_ok(at, {total}, me, true, pc)") + f"{each} {put.format(near)}"


def _operations() -> Iterator[Operation]:
    for t, bits in WIDTH.items():
        if bits > 8:
            yield from _arithmetic(t)
    for size in (16, 32, 64):
        yield from _bits(size)
    yield from (*_wide(16), *_wide(32))
    yield "mul.hi.u64", "D((uint64_t)((unsigned __int128)A * B >> 64));"
    yield "mul.hi.s64", "D((uint64_t)((__int128)(int64_t)A * (int64_t)B >> 64));"
    yield from (*_truth(), *_conversions(), *_bytes())
    for count, size in ((2, 16), (2, 32), (4, 16), (4, 8)):
        yield from _packs(count, size)
    for count, size in itertools.product((1, 2, 4), (8, 16, 32, 64)):
        if count * size <= 128:
            yield from _accesses(count, size)
    yield from (("bra", "pc = I[10];"), ("bar.sync", "return BARRIER;"), ("ret", "return ENDED;"))


OPERATIONS = {name: (number, text) for number, (name, text) in enumerate(_operations())}
"""Number and C++ of each operation."""


class Flow(NamedTuple):
    """How bits go through an operation: columns of its operands and of its results, and a word of `executor.cpp` for the rest.

    MOVES: bits of the `data` operands come out unchanged, wherever the other operands say. MIXES: any bit may change any other.
    """

    kind: str
    uses: tuple[int, ...]
    makes: tuple[int, ...]
    data: tuple[int, ...] = ()
    bits: int = 64
    """Bits of an operand or result that count."""


_ONE, _TWO = (7,), (7, 8)
_DATA = {"mov": _ONE, "cvt": _ONE, "cvta": _ONE, "shl": _ONE, "shr": _ONE, "bfe": _ONE, "prmt": _TWO, "shf": _TWO, "bfi": _TWO}
"""The operands whose bits an operation moves, by the first part of its name."""


def flow(name: str) -> Flow:
    """How bits go through an operation."""
    parts = name.split(".")
    operands = (7, 8, 9, 4) if parts[0] == "bfi" else (7, 8, 9)
    if parts[0] in ("bra", "bar", "ret"):
        return Flow("GOES", (), ())
    if parts[0] in ("ld", "st"):
        values = tuple(range(3, 3 + int(parts[2])))
        return Flow("STORES", values, (), bits=int(parts[3])) if parts[0] == "st" else Flow("LOADS", (), values)
    if parts[0] in ("pack", "unpack"):
        several, one = tuple(range(3, 3 + int(parts[1]))), (7,)
        return Flow("MOVES", several, one, several) if parts[0] == "pack" else Flow("MOVES", one, several, one)
    kind = {"selp": "CHOOSES", "and": "ANDS", "or": "ORS"}.get(parts[0], "MOVES" if parts[0] in _DATA else "MIXES")
    bits = 1 if "pred" in parts or parts[0] == "setp" else 64
    return Flow(kind, operands, (3,), _DATA.get(parts[0], ()), bits)
