"""Lines put together of bytes of any places by shuffles, as instructions: what `isoviz.backends.host.kernels.compiled.shuffle`
is made of.

Needs shuffles of bytes in vectors of 512 bits (AVX-512 VBMI).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from isoviz.backends.host.kernels.compiled.vectors import _I64, LINE, _at, _load, _store, _store_part, _vector

STEP = 128
"""Bytes that describe a step."""


def line_shuffler(*, past_caches: bool, whole: bool = True):
    """`shuffle(steps, windows, repeat, destination, written)`: a line put together of bytes of `windows` of 64, two in a step.

    `steps` is the address of steps of 16 words of 8 bytes: the addresses of its two windows at first, how far they move
    with every repeat, a bit for each byte of the line that comes from them, three words that are not read, and for each byte of
    the line which of their 128 bytes it is. The line is written as a `whole`, or only the bytes `written`; `past_caches` writes
    it to an aligned address. Needs shuffles of bytes in vectors of 512 bits.
    """
    line = _vector(1, LINE)

    @intrinsic
    def shuffle(context, steps, windows, repeat, destination, written):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            steps, windows, repeat, destination, written = values
            before, again, after = builder.block, *(builder.append_basic_block(name) for name in ("step", "written"))
            end = builder.add(steps, builder.mul(windows, ir.Constant(_I64, STEP // 2)))
            builder.branch(again)
            builder.position_at_end(again)
            step, found = builder.phi(_I64), builder.phi(line)
            places, by, order, mask = _step(builder, step)
            here = [builder.add(place, builder.mul(far, repeat)) for place, far in zip(places, by, strict=True)]
            merged = builder.select(mask, _shuffled(builder, here, order), found)
            following = builder.add(step, ir.Constant(_I64, STEP))
            builder.cbranch(builder.icmp_unsigned("<", following, end), again, after)
            for phi, first, later in ((step, steps, following), (found, ir.Constant(line, None), merged)):
                phi.add_incoming(first, before)
                phi.add_incoming(later, again)
            builder.position_at_end(after)
            if whole:
                _store(builder, merged, destination, past_caches=past_caches)
            else:
                _store_part(builder, merged, destination, written)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return shuffle


def lines_shuffler(windows: int, *, past_caches: bool):
    """`shuffle(steps, repeat, repeats, destination, by)`: the line of so many `windows` of a pattern and of its `repeats`, which
    lie `by` apart, as whole lines; the steps are as for `line_shuffler`, and what they say stays in registers."""

    @intrinsic
    def shuffle(context, steps, repeat, repeats, destination, by):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            steps, repeat, repeats, destination, destination_by = values
            known = [_step(builder, builder.add(steps, ir.Constant(_I64, STEP * k))) for k in range((windows + 1) // 2)]
            known[-1][0][2 - windows % 2 :] = []  # a window that is left over is both
            moving = [(place, by) for places, bys, _, _ in known for place, by in zip(places, bys, strict=False)]
            first = [builder.add(place, builder.mul(by, repeat)) for place, by in moving]
            before, again, after = builder.block, *(builder.append_basic_block(name) for name in ("repeat", "repeated"))
            builder.branch(again)
            builder.position_at_end(again)
            here, there, left = [builder.phi(_I64) for _ in moving], builder.phi(_I64), builder.phi(_I64)
            found = None
            for k, (_, _, order, mask) in enumerate(known):
                picked = _shuffled(builder, here[2 * k : 2 * k + 2], order)
                found = picked if found is None else builder.select(mask, picked, found)
            _store(builder, found, there, past_caches=past_caches)
            one_less = builder.sub(left, ir.Constant(_I64, 1))
            later = [builder.add(at, by) for at, (_, by) in zip(here, moving, strict=True)]
            following = builder.add(there, destination_by)
            builder.cbranch(builder.icmp_signed(">", one_less, ir.Constant(_I64, 0)), again, after)
            begins, nexts = [*first, destination, repeats], [*later, following, one_less]
            for phi, begin, next_one in zip([*here, there, left], begins, nexts, strict=True):
                phi.add_incoming(begin, before)
                phi.add_incoming(next_one, again)
            builder.position_at_end(after)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5), generate

    return shuffle


def _step(builder, step):
    """What stands at the address of a step: the addresses of its windows, how far they move, the order of bytes, their mask."""
    place, other, by, other_by, mask = (builder.load(_at(builder, step, _I64, 8 * k)) for k in range(5))
    mask = builder.bitcast(mask, ir.VectorType(ir.IntType(1), LINE))
    return [place, other], [by, other_by], _load(builder, step, _vector(1, LINE), LINE), mask


def _shuffled(builder, here: list[Any], order):
    """Bytes of one window or two, in an order."""
    line = _vector(1, LINE)
    windows = [_load(builder, address, line) for address in here]
    if len(windows) == 1:
        kind, name, arguments = [line] * 2, "llvm.x86.avx512.permvar.qi.512", [*windows, order]
    else:
        kind, name, arguments = [line] * 3, "llvm.x86.avx512.vpermi2var.qi.512", [windows[0], order, windows[1]]
    return builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(line, kind), name), arguments)
