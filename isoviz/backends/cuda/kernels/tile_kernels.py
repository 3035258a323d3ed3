"""The CUDA C++ text of a tile kernel: source → image in shared memory → destination, both in whole slots of 16 bytes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoviz.backends.cuda.kernels.kernel_source import THREADS, KernelSource, kernel_source
from isoviz.backends.cuda.kernels.straight_kernels import counter_of
from isoviz.backends.cuda.kernels.tile_shape import SLOT, Side, TileShape, Walk, best_walk

if TYPE_CHECKING:
    from isoviz.backends.cuda.kernels.field_parts import Group

_MOST_IN_FLIGHT = 4
"""Slots that a thread loads before it stores the first one."""


def tile_kernel(group: Group, shape: TileShape) -> KernelSource:
    """The kernel that moves all parts of a group, tile by tile."""
    return _Text(group, best_walk(shape)).kernel()


class _Text:
    def __init__(self, group: Group, walk: Walk) -> None:
        self.group, self.shape, self.walk = group, walk.shape, walk
        shape = walk.shape
        self.loops = range(len(group.extents))
        more = [shape.lead.more if loop == shape.lead.loop else 0 for loop in self.loops]
        self.tiles = shape.tiles(group)
        # The extents of the last tile along these loops are smaller. With a lead, those of the last two may be.
        self.ragged = {
            loop for loop in self.loops if shape.tile[loop] > 1 and (more[loop] or group.extents[loop] % shape.tile[loop])
        }

    def kernel(self) -> KernelSource:
        count = math.prod(self.tiles)
        inside = self._tile_numbers() + self._bases()
        near, far = self._near(), "".join(self._far(part) for part in range(len(self.group.parts)))
        first, second = (near, far) if self.group.near_is_source else (far, near)
        body = f"""\
  __shared__ __align__(16) b1 image[{self.walk.room}];
  typedef {counter_of(count)} counter;
  for (counter tile = blockIdx.x; tile < {count}u{"" if counter_of(count) == "b4" else "ll"}; tile += gridDim.x) {{
{inside}{first}    __syncthreads();
{second}    __syncthreads();
  }}
"""
        pairs = [(part.source_offset, part.destination_offset) for part in self.group.parts]
        return kernel_source("tiles", body, count, pairs, self.group.nbytes)

    # ---- where a tile is

    def _tile_numbers(self) -> str:
        """The number of the tile along every loop, and the extents of the tile where they vary. Loops that are fast at the far
        side change fastest, so that blocks that run together have neighbouring far rows."""
        far = self.group.parts[0].far
        several = [loop for loop in sorted(self.loops, key=far.__getitem__) if self.tiles[loop] > 1]
        lines = ["counter rest = tile;"] if several else []
        lines += [f"const long long k{loop} = rest % {self.tiles[loop]}u; rest /= {self.tiles[loop]}u;" for loop in several[:-1]]
        lines += [f"const long long k{loop} = rest;" for loop in several[-1:]]
        for loop in sorted(self.ragged):
            tile, extent, held = self.shape.tile[loop], self.group.extents[loop], self.shape.held[loop]
            if loop == self.shape.lead.loop:
                left = f"{extent + held - tile}ll - k{loop} * {tile}"
                lines.append(f"const b4 e{loop} = (b4)({left} < {held} ? {left} : {held});")
            else:
                lines.append(f"const b4 e{loop} = k{loop} == {self.tiles[loop] - 1} ? {extent % tile} : {tile};")
        return "".join(f"    {line}\n" for line in lines)

    def _bases(self) -> str:
        """Pointers to the first byte of the tile at every side."""
        lines = [self._base("near", 0, self.group.near_is_source, self.group.near)]
        for number, part in enumerate(self.group.parts):
            lines.append(self._base(f"far{number}", number, not self.group.near_is_source, part.far))
        if not self.shape.near.aligned:
            lines.append("const b4 remainder = (b4)(size_t)near & 15;")
        return "".join(f"    {line}\n" for line in lines)

    def _base(self, name: str, part: int, is_source: bool, strides: tuple[int, ...]) -> str:
        steps = "".join(f" + k{loop} * {strides[loop] * self.shape.tile[loop]}ll" for loop in self.loops if self.tiles[loop] > 1)
        if name == "near" and self.shape.lead.more:
            steps += f" - {self.shape.lead.more * strides[self.shape.lead.loop]}ll"
        if not is_source:
            return f"b1* const {name} = destination + d{part}{steps};"
        last = self.group.cell if name == "near" else self.group.parts[part].run
        last += sum((extent - 1) * stride for extent, stride in zip(self.group.extents, strides, strict=True))
        return (
            f"const b1* const first_{name} = source + s{part}, * const last_{name} = first_{name} + {last}ll;"
            f" const b1* const {name} = first_{name}{steps};"
        )

    # ---- walking

    def _near(self) -> str:
        side, word = self.shape.near, self.walk.width
        unit = min(side.unit, word)
        row = f"r * {self.shape.pitch} + " if side.across else ""
        at = f"image + {self._skew(f'{row}slot * 16')}"
        if self.group.near_is_source:
            whole = f"store<{word}>(held[u], {at});"
            # With a lead, rows before the first one are in the image, too.
            exists = "if (row + q >= first_near && row + q < last_near) " if self.shape.lead.more else ""
            outside = f"b1* const to = {at}; {_edges(unit)} {exists}move<{unit}>(to + (q - low), row + q);"
            return self._loads(side, self.walk.near_lanes, "near", whole, outside)
        whole = f"Slot s; load<{word}>(s, {at}); store<16>(s, row + low);"
        partly = f"const b1* const from = {at}; {self._some(unit, 'near', f'from + j * {unit}')}"
        return self._stores(side, self.walk.near_lanes, "near", "", whole, partly)

    def _far(self, part: int) -> str:
        side, unit = self.shape.far[part], self.shape.far[part].unit
        place = self._place(part)
        if self.group.near_is_source and side.columns > 1:
            return self._stores(side, self.walk.far_lanes[part], f"far{part}", place, *self._together(side))
        if self.group.near_is_source:
            zero = "s.w[0] = s.w[1] = s.w[2] = s.w[3] = 0; " if unit < 4 else ""
            whole = (
                f"Slot s; {zero}\n#pragma unroll\n        for (int j = 0; j < {SLOT // unit}; ++j)"
                f" load_part<{unit}>(s, j, image + place(low + j * {unit}));\n        store<16>(s, row + low);"
            )
            partly = self._some(unit, f"far{part}", f"image + place(low + j * {unit})")
            return self._stores(side, self.walk.far_lanes[part], f"far{part}", place, whole, partly)
        each = f"\n#pragma unroll\n        for (int j = 0; j < {SLOT // unit}; ++j)"
        put = f"store_part<{unit}>(held[u], j, image + place(low + j * {unit}));\n       "
        guarded = f"{each} if (low + j * {unit} >= 0 && low + j * {unit} < length) {put}"
        whole = f"{place}if (low >= 0 && low + 16 <= length) {{{each} {put}}}\n        else {{{guarded}}}"
        outside = f"{place}{_edges(unit)} move<{unit}>(image + place(q), row + q);"
        return self._loads(side, self.walk.far_lanes[part], f"far{part}", whole, outside)

    def _some(self, unit: int, base: str, place: str) -> str:
        """Statements that store a slot in part; `place` is that of unit j."""
        begin = self._begin(base)
        return (
            f"Slot s; s.w[0] = s.w[1] = s.w[2] = s.w[3] = 0;\n#pragma unroll\n        for (int j = 0; j < {SLOT // unit}; ++j)"
            f" if (low + j * {unit} >= {begin} && low + j * {unit} < length) load_part<{unit}>(s, j, {place});\n"
            f"        store_some<{unit}>(s, row + low, {begin} - low, length - low);"
        )

    def _together(self, side: Side) -> tuple[str, str]:
        """Several rows at once: a word holds one unit of each of them."""
        unit, columns, step = side.unit, side.columns, side.strides[side.wide]
        words = SLOT // unit
        there = f"if (c{side.wide} + i < e{side.wide}) " if side.wide in self.ragged else ""
        whole = (
            f"b4 words[{words}];\n#pragma unroll\n        for (int j = 0; j < {words}; ++j)"
            f" words[j] = *(const b4*)(image + place(low + j * {unit}));\n#pragma unroll\n"
            f"        for (int i = 0; i < {columns}; ++i) store<16>(sorted<{unit}>(words, i), row + i * {step}ll + low);"
        )
        partly = (
            f'_Pragma("unroll 1") for (int i = 0; i < {columns}; ++i) {there}\n        {_edges(unit)}'
            f" move<{unit}>(row + i * {step}ll + q, image + place(q) + i * {unit});"
        )
        return whole, partly

    def _loads(self, side: Side, lanes: int, base: str, whole: str, outside: str) -> str:
        """Memory → image: several loads first, then the stores into shared memory.

        A slot that is needed only in part is loaded as a whole, unless it reaches beyond the first or last byte of the copies.
        """
        count, which = self._numbers(side, lanes)
        flight = min(_MOST_IN_FLIGHT, -(-count // THREADS))
        where = self._where(side, base)
        there = self._there(side, lanes, count, flight)
        inside = f"row + low + 16 <= last_{base}"
        if not side.aligned or self.shape.lead.more:
            inside += f" && row + low >= first_{base}"
        return f"""\
    for (b4 first = threadIdx.x; first < {count}; first += {flight * THREADS}) {{
      Slot held[{flight}];
#pragma unroll
      for (int u = 0; u < {flight}; ++u) {{
        const b4 n = first + u * {THREADS};
        {which}
        if ({there}) {{
          {where}
          if (low < length && {inside}) load<16>(held[u], row + low);
        }}
      }}
#pragma unroll
      for (int u = 0; u < {flight}; ++u) {{
        const b4 n = first + u * {THREADS};
        {which}
        if ({there}) {{
          {where}
          if (low < length) {{
            if ({inside}) {{ {whole} }}
            else {{ {outside} }}
          }}
        }}
      }}
    }}
"""

    def _stores(self, side: Side, lanes: int, base: str, place: str, whole: str, partly: str) -> str:
        """Image → memory. Of a slot that the copies do not fill, only their bytes are written."""
        count, which = self._numbers(side, lanes)
        every = f" && c{side.wide} + {side.columns} <= e{side.wide}" if side.wide in self.ragged else ""
        return f"""\
    for (b4 n = threadIdx.x; n < {count}; n += {THREADS}) {{
      {which}
      if ({self._there(side, lanes, count)}) {{
        {self._where(side, base)}
        {place}
        if (low >= {self._begin(base)} && low + 16 <= length{every}) {{ {whole} }}
        else {{ {partly} }}
      }}
    }}
"""

    def _begin(self, base: str) -> str:
        """The first byte that a tile moves, counted from its first iteration."""
        lead = self.shape.lead
        return f"(k{lead.loop} ? -15 : 0)" if lead.more and base != "near" else "0"

    def _numbers(self, side: Side, lanes: int) -> tuple[int, str]:
        """Steps of all threads through a tile, and the statements that turn a step into its slot, row and digits."""
        across, high = 32 // lanes, -(-side.slots // lanes)
        count = 32 * high * -(-side.rows // across)
        slot = " + ".join(([f"n / 32 % {high} * {lanes}"] if high > 1 else []) + ([f"n % {lanes}"] if lanes > 1 else []))
        text = f"const b4 slot = {slot or '0'};"
        if side.across:
            text += f" const b4 r = n / {32 * high} * {across}{f' + n / {lanes} % {across}' if across > 1 else ''};"
        elif across > 1:
            text += f" const b4 r = n / {32 * high} * {across} + n / {lanes} % {across};"
        rest = "r"
        for number, loop in enumerate(side.across):
            last = number == len(side.across) - 1
            steps = side.steps(self.shape.held, loop)
            times = f" * {side.columns}" if loop == side.wide else ""
            text += f" const b4 c{loop} = ({rest if last else f'{rest} % {steps}'}){times};"
            rest = f"{rest} / {steps}"
        return count, text

    def _there(self, side: Side, lanes: int, count: int, flight: int = 1) -> str:
        """The condition that a step is inside the tile."""
        across = 32 // lanes
        conditions = [f"n < {count}"] if count % (flight * THREADS) else []
        if side.slots % lanes:
            conditions.append(f"slot < {side.slots}")
        if side.rows % across:
            conditions.append(f"r < {side.rows}")
        conditions += [f"c{loop} < e{loop}" for loop in side.across if loop in self.ragged]
        return " && ".join(conditions) or "true"

    def _where(self, side: Side, base: str) -> str:
        """The row's first byte, its length, and the first byte of the slot, counted from there."""
        is_source = (base == "near") == self.group.near_is_source
        steps = "".join(f" + c{loop} * {side.strides[loop]}ll" for loop in side.across)
        period = side.cell + side.hole
        lead = self.shape.lead
        if lead.more and base != "near":
            whole, step = side.slots * SLOT, side.strides[lead.loop]
            left = f"{self.group.extents[lead.loop] * step}ll - k{lead.loop} * {whole}"
            length = f"{left} < {whole} ? {left} : {whole}"
        else:
            full = math.prod(self.shape.tile[loop] for loop in side.row if loop not in self.ragged)
            varying = "".join(f" * e{loop}" for loop in side.row if loop in self.ragged)
            length = f"{period * full}{varying}{f' - {side.hole}' if side.hole else ''}"
        low = "(int)(slot * 16)" if side.aligned else "(int)(slot * 16) - (int)((size_t)row & 15)"
        return (
            f"{'const b1*' if is_source else 'b1*'} const row = {base}{steps}; const int length = (int)({length}), low = {low};"
        )

    # ---- the image

    def _place(self, part: int) -> str:
        """A function from the byte of a far row to its place in the image."""
        side, shape = self.shape.far[part], self.shape
        lines = []
        if side.row:
            before = side.strides[shape.lead.loop] * shape.lead.more if shape.lead.more else 0
            lines.append(f"b4 m = {f'(q + {before})' if before else 'q'} / {side.cell};")
            inside = f" + {f'(q + {before})' if before else 'q'} % {side.cell}" if side.cell > side.unit else ""
            for number, loop in enumerate(side.row):
                last = number == len(side.row) - 1
                lines.append(f"const b4 t{loop} = m{'' if last else f' % {shape.tile[loop]}; m /= {shape.tile[loop]}'};")
        else:
            inside = " + q"
        digits = {loop: f"t{loop}" for loop in side.row} | {loop: f"c{loop}" for loop in side.across}
        sums = "".join(f" + {digit} * {shape.weights[loop]}" for loop, digit in digits.items() if shape.weights[loop])
        if not shape.near.aligned:
            moved = "".join(
                f" + {digits[loop]} * {step}" for loop in shape.near.across if (step := shape.near.strides[loop] % SLOT)
            )
            sums += f" + (remainder{moved} & 15)"
        lines.append(f"const b4 at = {self.group.places[part]}{inside}{sums};")
        return f"auto place = [&](b4 q) -> b4 {{ {' '.join(lines)} return {self._skew('at')}; }};\n        "

    def _skew(self, place: str) -> str:
        if not self.walk.skew:
            return place
        return f"({place} + (({place}) >> {self.walk.skew}) * {self.shape.word})"


def _edges(unit: int) -> str:
    """The loop over the units of a slot that is full only in part."""
    return f'_Pragma("unroll 1") for (int q = low < 0 ? 0 : low; q < (low + 16 < length ? low + 16 : length); q += {unit})'
