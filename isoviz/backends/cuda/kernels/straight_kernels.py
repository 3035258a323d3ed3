"""Kernels that go straight from source to destination, without shared memory.

`units`: every thread moves units of one size, which divides every offset, stride and run. `slots`: every thread moves one
aligned slot of 16 destination bytes, or the part of it that a run fills, wherever the run lies at the source. `any`: as
units, for copies so small that compiling would take far longer than moving them; extents and strides are arguments, so that a
few dozen kernels serve all shapes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.backends.cuda.kernels.kernel_source import THREADS, KernelSource, kernel_source

if TYPE_CHECKING:
    from isoviz.layouts import StridedCopy

WIDEST = 16
"""Bytes of the widest access of one thread."""
LONG_RUN = 64
"""Runs of at least this number of bytes are moved in slots, where units of 16 bytes do not divide everything."""
_IN_FLIGHT = 4
"""Loads that a thread issues before its first store."""
_SLOTS_IN_FLIGHT = 2
"""As well, for slots: each needs two loads, and more registers."""
_FEW = 1 << 29
"""With fewer steps than this, no counter of a kernel exceeds 32 bits: a counter stays below five times the steps."""


def power_of_two(*numbers: int) -> int:
    """The largest power of two, at most 16, that divides all numbers."""
    together = math.gcd(WIDEST, *numbers)
    return together & -together


def unit_of(copy: StridedCopy, source_alignment: int, destination_alignment: int) -> int:
    """Bytes of the widest unit in which every access of a copy is aligned at both ends."""
    strides = [stride for loop in copy.loops for stride in loop[1:]]
    return power_of_two(source_alignment, destination_alignment, copy.source_offset, copy.destination_offset, copy.run, *strides)


def straight(copy: StridedCopy, source_alignment: int, destination_alignment: int) -> KernelSource:
    """The kernel of one copy of any geometry, at full speed where runs are long or neighbours stay neighbours."""
    unit = unit_of(copy, source_alignment, destination_alignment)
    if unit < WIDEST and copy.run >= LONG_RUN:
        return _slots(copy, unit, source_alignment, destination_alignment)
    return _units(copy, unit)


def of_any_shape(copy: StridedCopy, source_alignment: int, destination_alignment: int) -> KernelSource:
    """The kernel of a copy of less than 2^29 bytes, shared by all copies with the same unit and number of loops."""
    unit = unit_of(copy, source_alignment, destination_alignment)
    loops = [(copy.run // unit, unit, unit), *copy.loops[::-1]]
    numbers = {"total": copy.nbytes // unit}
    body = f"""\
  source += s0;
  destination += d0;
  const b4 step = gridDim.x * {THREADS};
  for (b4 at = blockIdx.x * {THREADS} + threadIdx.x; at < (b4)total; at += step) {{
    b4 rest = at;
    long long from_offset = 0, to_offset = 0;
"""
    for number, (extent, here, there) in enumerate(loops):
        numbers |= {f"n{number}": extent, f"f{number}": here, f"t{number}": there}
        body += f"""\
    {{ const b4 digit = rest % (b4)n{number}; rest /= (b4)n{number};
      from_offset += digit * f{number}; to_offset += digit * t{number}; }}
"""
    body += f"    move<{unit}>(destination + to_offset, source + from_offset);\n  }}\n"
    pairs = [(copy.source_offset, copy.destination_offset)]
    return kernel_source("any", body, -(-numbers["total"] // THREADS), pairs, copy.nbytes, numbers)


def counter_of(steps: int) -> str:
    """The C type that counts steps, also a few grids beyond the last one."""
    return "b4" if steps < _FEW else "unsigned long long"


def _units(copy: StridedCopy, unit: int) -> KernelSource:
    count = copy.nbytes // unit
    per_run = copy.run // unit
    body = f"""\
  typedef {counter_of(count)} counter;
  const counter total = {count}u{"ll" if count >= _FEW else ""}, step = (counter)gridDim.x * {THREADS};
  source += s0;
  destination += d0;
  for (counter first = (counter)blockIdx.x * {THREADS} + threadIdx.x; first < total; first += {_IN_FLIGHT} * step) {{
    Slot held[{_IN_FLIGHT}];
    b1* to[{_IN_FLIGHT}];
#pragma unroll
    for (int u = 0; u < {_IN_FLIGHT}; ++u) {{
      const counter at = first + u * step;
      if (at < total) {{
        counter rest = at;
        long long from_offset = 0, to_offset = 0;
{_digits(copy, per_run, unit)}\
        held[u].w[0] = 0;
        load_part<{unit}>(held[u], 0, source + from_offset);
        to[u] = destination + to_offset;
      }}
    }}
#pragma unroll
    for (int u = 0; u < {_IN_FLIGHT}; ++u)
      if (first + u * step < total) store_part<{unit}>(held[u], 0, to[u]);
  }}
"""
    blocks = -(-count // (THREADS * _IN_FLIGHT))
    return kernel_source("units", body, blocks, [(copy.source_offset, copy.destination_offset)], copy.nbytes)


def _digits(copy: StridedCopy, per_run: int, unit: int) -> str:
    """Statements that take the digits of `rest`, fastest first, and add them up to both offsets."""
    loops = [loop for loop in ((per_run, unit, unit), *copy.loops[::-1]) if loop[0] > 1]
    lines = []
    for number, (extent, here, there) in enumerate(loops):
        if number < len(loops) - 1:
            lines.append(f"{{ const long long digit = rest % {extent}u; rest /= {extent}u;")
        else:
            lines.append("{ const long long digit = rest;")
        lines.append(f"  from_offset += digit * {here}ll; to_offset += digit * {there}ll; }}")
    return "".join(f"        {line}\n" for line in lines)


def _slots(copy: StridedCopy, unit: int, source_alignment: int, destination_alignment: int) -> KernelSource:
    """Slots are aligned at the destination. Each is loaded as the one or two aligned slots of the source that hold its bytes.

    These may reach beyond a run, but not beyond the first or last byte of the copy.
    """
    apart = power_of_two(
        source_alignment,
        destination_alignment,
        copy.source_offset - copy.destination_offset,
        *(here - there for _, here, there in copy.loops),
    )
    per_run = -(-(copy.run + WIDEST - unit) // WIDEST)
    count = per_run * (copy.nbytes // copy.run)
    span = copy.run + sum((extent - 1) * here for extent, here, _ in copy.loops)
    place = "long long" if copy.run >= 1 << 30 else "int"
    body = f"""\
  typedef {counter_of(count)} counter;
  const counter total = {count}u{"ll" if count >= _FEW else ""}, step = (counter)gridDim.x * {THREADS};
  const {place} run = {copy.run};
  source += s0;
  destination += d0;
  for (counter first = (counter)blockIdx.x * {THREADS} + threadIdx.x; first < total; first += {_SLOTS_IN_FLIGHT} * step) {{
    Slot held[{_SLOTS_IN_FLIGHT}];
    b1* to[{_SLOTS_IN_FLIGHT}];
    int begin[{_SLOTS_IN_FLIGHT}], end[{_SLOTS_IN_FLIGHT}];
#pragma unroll
    for (int u = 0; u < {_SLOTS_IN_FLIGHT}; ++u) {{
      const counter at = first + u * step;
      to[u] = 0;
      if (at < total) {{
        counter rest = at / {per_run}u;
        long long from_offset = 0, to_offset = 0;
        const {place} slot = ({place})(at % {per_run}u);
{_digits(copy, 1, unit)}\
        b1* const to_run = destination + to_offset;
        const {place} low = slot * 16 - (int)((size_t)to_run & 15);
        const b1* const from = source + from_offset + low;
        const b1* const aligned = from - ((size_t)from & 15);
        begin[u] = low < 0 ? (int)-low : 0;
        end[u] = run - low < 16 ? (int)(run - low) : 16;
        if (begin[u] < end[u]) {{
          if (aligned >= source && aligned + (aligned < from ? 32 : 16) <= source + {span}ll) {{
            load_across<{apart}>(held[u], from);
            to[u] = to_run + low;
          }} else {{
#pragma unroll 1
            for (int q = begin[u]; q < end[u]; q += {unit}) move<{unit}>(to_run + low + q, from + q);
          }}
        }}
      }}
    }}
#pragma unroll
    for (int u = 0; u < {_SLOTS_IN_FLIGHT}; ++u)
      if (to[u]) store_some<{unit}>(held[u], to[u], begin[u], end[u]);
  }}
"""
    blocks = -(-count // (THREADS * _SLOTS_IN_FLIGHT))
    return kernel_source("slots", body, blocks, [(copy.source_offset, copy.destination_offset)], copy.nbytes)
