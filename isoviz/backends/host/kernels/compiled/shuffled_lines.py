"""LLVM instructions that put lines together by byte shuffles, for `isoviz.backends.host.kernels.compiled.shuffle`.

They need byte shuffles in vectors of 512 bits (AVX-512 VBMI).
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
    """`shuffle(steps, windows, repeat, destination, written)`: a line put together from bytes of 64-byte `windows`, two in a
    step.

    `steps` is the address of steps of 16 words of 8 bytes: the first addresses of two windows, their strides from repeat to
    repeat, a bit for each byte of the line that they give, three unused words, and for each byte of the line its number among
    their 128 bytes. The line is stored as a `whole`, or only its bytes `written`. `past_caches` is a non-temporal store to an
    aligned address.
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
    """`shuffle(steps, repeat, repeats, destination, by)`: one line of `windows` windows for `repeats` repeats, `by` bytes
    apart, each stored whole. The steps are as for `line_shuffler` and stay in registers."""

    @intrinsic
    def shuffle(context, steps, repeat, repeats, destination, by):  # noqa: ARG001
        def generate(context, builder, signature, values):  # noqa: ARG001
            steps, repeat, repeats, destination, destination_by = values
            known = [_step(builder, builder.add(steps, ir.Constant(_I64, STEP * k))) for k in range((windows + 1) // 2)]
            known[-1][0][2 - windows % 2 :] = []  # A last single window stands for both.
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
    """The words of a step: addresses of its windows, their strides, the order of bytes, their mask."""
    place, other, by, other_by, mask = (builder.load(_at(builder, step, _I64, 8 * k)) for k in range(5))
    mask = builder.bitcast(mask, ir.VectorType(ir.IntType(1), LINE))
    return [place, other], [by, other_by], _load(builder, step, _vector(1, LINE), LINE), mask


def _shuffled(builder, here: list[Any], order):
    """Bytes of one window or of two, in a given order."""
    line = _vector(1, LINE)
    windows = [_load(builder, address, line) for address in here]
    if len(windows) == 1:
        kind, name, arguments = [line] * 2, "llvm.x86.avx512.permvar.qi.512", [*windows, order]
    else:
        kind, name, arguments = [line] * 3, "llvm.x86.avx512.vpermi2var.qi.512", [windows[0], order, windows[1]]
    return builder.call(cgutils.get_or_insert_function(builder.module, ir.FunctionType(line, kind), name), arguments)
