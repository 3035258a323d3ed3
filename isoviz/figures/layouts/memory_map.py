"""Where the elements of a layout lie in the picture of memory: one after another, in the order of their addresses.

The digits of the layout say how memory is wrapped. Cells hold the fastest digits: one goes across, the next one goes down. The
slower digits make tiles of these cells, two digits for each level, in reading order. `F` as the fastest digit, or a few channels,
lie inside the cell as strips. Equal orders have equal digits, and so equal pictures.

A picture has fewer cells than memory has elements. Then it is a scale model: a digit shows only some of its values, spread
evenly.
The browser draws the same (`widgets/src/views/memory/memory-map.ts`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from isoviz.layouts import Mode
from isoviz.layouts.modes import parts_within

if TYPE_CHECKING:
    from isoviz.layouts import Linearization
    from isoviz.layouts.modes import NormalPart

F = -1
"""The number of `F` among the dimensions of a space."""
_CHANNELS = 4
"""The most values of a whole dimension that lies inside the cell. It has to vary fastest."""
LONG = 64
"""A row of more cells than this that has nothing below it is wrapped to about a square."""
_CELLS_OF_TILE = 24
"""The fewest cells along a side of a tile, on average over the picture."""


class Digit(NamedTuple):
    """A digit of a layout: its dimension by number, its values, and the coordinates that one value is."""

    dim: int
    extent: int
    step: int


class ModelDigit(NamedTuple):
    """A digit of a dimension (or of `F`) as it is drawn: `shown` of its `extent` values."""

    step: int
    extent: int
    shown: int


class ModelDimension(NamedTuple):
    """A dimension of the model.

    It has its digits, fastest first, its coordinates with padding, and those that are in what is drawn. `whole` counts the
    coordinates of the array that these stand for.
    """

    digits: tuple[ModelDigit, ...]
    padded: int
    size: int
    whole: int

    def coordinate(self, at: int) -> int:
        """The coordinate in the array of a coordinate of the model."""
        return _coordinate(self.digits, at)


class OrderDigit(NamedTuple):
    """A digit of the order of memory: its values in the model, and the coordinates of the model that one value is."""

    dim: int
    extent: int
    weight: int


class Level(NamedTuple):
    """The digits of a level: cells are level 0. A digit alone may be wrapped: `across` and `down` are two parts of it."""

    across: OrderDigit | None
    down: OrderDigit | None


class Element(NamedTuple):
    """An element of an array: its point, and its field by number."""

    point: tuple[int, ...]
    field: int


@dataclass(frozen=True)
class MemoryMap:
    """The elements of a layout, or of a block of it, in the order of memory, and their cells."""

    linear: Linearization
    model: tuple[ModelDimension, ...]
    fields: ModelDimension
    order: tuple[OrderDigit, ...]
    """The order of the elements, fastest digit first."""
    inside: OrderDigit | None
    """The strips inside a cell; None if a cell is one element."""
    levels: tuple[Level, ...]
    """The cells, then tiles of them, then tiles of these."""
    is_block: bool
    """Whether this is a block of an array: where its entries end, others lie, not padding."""

    @property
    def across(self) -> list[int]:
        """How many parts stand beside each other at each level, cells first."""
        return [level.across.extent if level.across else 1 for level in self.levels]

    @property
    def down(self) -> list[int]:
        """How many parts stand below each other at each level, cells first."""
        return [level.down.extent if level.down else 1 for level in self.levels]

    @property
    def strips(self) -> int:
        """The elements in a cell."""
        return self.inside.extent if self.inside else 1

    @property
    def count(self) -> int:
        """Elements and padding."""
        return math.prod(digit.extent for digit in self.order)

    @property
    def has_holes(self) -> bool:
        """Whether some places hold no element: padding, or cells behind the end."""
        cells = math.prod(self.across) * math.prod(self.down) * self.strips
        return cells > math.prod(dim.size for dim in self.model) * self.fields.size

    def model_at(self, place: int) -> list[int]:
        """The coordinates of the model at a place in the order of memory, and behind them the field of the model."""
        found = [0] * (len(self.model) + 1)
        for dim, extent, weight in self.order:
            place, value = divmod(place, extent)
            found[dim] += value * weight  # F is the last one
        return found

    def element_at(self, place: int) -> Element | None:
        """The element at a place in the order of memory; None for padding and behind the end."""
        if not 0 <= place < self.count:
            return None
        *found, field = self.model_at(place)
        if any(at >= dim.size for at, dim in zip(found, self.model, strict=True)):
            return None
        point = tuple(dim.coordinate(at) for at, dim in zip(found, self.model, strict=True))
        return Element(point, self.fields.coordinate(field))

    def elements(self) -> Iterator[Element]:
        """The elements in the order of memory."""
        return (found for place in range(self.count) if (found := self.element_at(place)) is not None)


def whole_map(linear: Linearization, side: int | None = None) -> MemoryMap:
    """The picture of a whole allocation, with at most about `side` cells along a side (None: all of them)."""
    digits = _digits(linear, linear.normal)
    shape = _arrangement(digits, [*linear.space.sizes, len(linear.fields)])
    shown = {digit: digit.extent for digit in digits}
    if side is not None:
        _shorten(shape, shown, side)

    def dimension(dim: int, whole: int) -> ModelDimension:
        own = sorted((digit for digit in digits if digit.dim == dim), key=lambda digit: digit.step)
        return _dimension([ModelDigit(digit.step, digit.extent, shown[digit]) for digit in own], whole)

    def ordered(digit: Digit) -> OrderDigit:
        below = [each for each in digits if each.dim == digit.dim and each.step < digit.step]
        return OrderDigit(digit.dim, shown[digit], math.prod(shown[each] for each in below))

    order = tuple(map(ordered, digits))
    inside, levels = _wrapped(shape, dict(zip(digits, order, strict=True)))
    model = tuple(dimension(dim, size) for dim, size in enumerate(linear.space.sizes))
    return MemoryMap(linear, model, dimension(F, len(linear.fields)), order, inside, levels, False)


def block_map(linear: Linearization, block: Mapping[str, int], path: Sequence[Linearization], limit: int) -> MemoryMap:
    """The picture of one block, with at most `limit` entries. All stops of `path` show the same entries."""
    extents = [max(1, min(size, block.get(dim, size))) for dim, size in linear.space.as_dict().items()]
    wholes = [*extents, len(linear.fields)]
    chains = _chains([linear, *path], wholes, limit)
    digits = _in_block(linear, wholes)

    def ordered(digit: Digit) -> OrderDigit:
        weight = _coordinates_below(chains[digit.dim], digit.step)
        end = digit.step * digit.extent
        below = _coordinates_below(chains[digit.dim], end if end < wholes[digit.dim] else math.inf)
        return OrderDigit(digit.dim, -(-below // weight), weight)

    order = {digit: found for digit in digits if (found := ordered(digit)).extent > 1}
    inside, levels = _wrapped(_arrangement(list(order), wholes), order)
    model = tuple(_dimension(chains[dim], whole) for dim, whole in enumerate(extents))
    return MemoryMap(linear, model, _dimension(chains[F], wholes[F]), tuple(order.values()), inside, levels, True)


# ---- the digits of a layout


def _digits(linear: Linearization, parts: Sequence[NormalPart]) -> list[Digit]:
    """The parts of a normal form as digits; `F` of one field is none."""
    dims, fields = list(linear.space.dims), len(linear.fields)
    found = [
        Digit(dims.index(part.dim), part.extent, part.step) if isinstance(part, Mode) else Digit(F, fields, 1) for part in parts
    ]
    return [digit for digit in found if digit.extent > 1]


def _in_block(linear: Linearization, wholes: Sequence[int]) -> list[Digit]:
    """The digits of a layout within a block: the slower ones have one value there."""
    return _digits(linear, parts_within(linear.normal, dict(zip(linear.space.dims, wholes, strict=False))))


def _chains(layouts: Sequence[Linearization], wholes: Sequence[int], limit: int) -> dict[int, list[ModelDigit]]:
    """By dimension: the digits into which all layouts cut the block, some of them shortened to `limit` entries.

    Digits of layouts whose blocks do not nest are left in one piece.
    """
    clipped = [_in_block(each, wholes) for each in layouts]
    chains: dict[int, list[ModelDigit]] = {}
    solid: set[tuple[int, int]] = set()
    for dim in (F, *range(len(wholes) - 1)):
        whole = wholes[dim]
        ends = (cut for digits in clipped for own in digits if own.dim == dim for cut in (own.step, own.step * own.extent))
        cuts = {cut for cut in ends if 1 < cut < whole}
        nests = {cut for cut in cuts if all(other % cut == 0 or cut % other == 0 for other in cuts)}
        steps = [1, *sorted(nests)]
        chains[dim] = []
        for place, step in enumerate(steps):
            extent = steps[place + 1] // step if place + 1 < len(steps) else -(-whole // step)
            if any(step < cut < step * extent for cut in cuts - nests):
                solid.add((dim, place))
            chains[dim].append(ModelDigit(step, extent, extent))
    entries = math.prod(digit.shown for chain in chains.values() for digit in chain)
    while entries > limit:
        open_ones = [
            (digit.shown, (dim, place))
            for dim, chain in chains.items()
            for place, digit in enumerate(chain)
            if digit.shown > 2 and (dim, place) not in solid
        ]
        if not open_ones:
            break
        most = max(shown for shown, _ in open_ones)
        dim, place = [key for shown, key in open_ones if shown == most][-1]
        half = max(2, most // 2)
        chains[dim][place] = chains[dim][place]._replace(shown=half)
        entries = entries // most * half
    return chains


def _coordinates_below(chain: Sequence[ModelDigit], cut: float) -> int:
    """How many coordinates of the model lie below a cut. A cut within a digit is in one that shows all its values."""
    count = 1
    for step, extent, shown in chain:
        if cut <= step:
            break
        count *= shown if cut >= step * extent else int(cut) // step
    return count


def _dimension(digits: Sequence[ModelDigit], whole: int) -> ModelDimension:
    padded = math.prod(digit.shown for digit in digits)
    low, high = 1, padded  # coordinates grow with those of the model
    while low < high:
        middle = -(-(low + high) // 2)
        if _coordinate(digits, middle - 1) < whole:
            low = middle
        else:
            high = middle - 1
    return ModelDimension(tuple(digits), padded, low, whole)


def _coordinate(digits: Sequence[ModelDigit], at: int) -> int:
    found = 0
    for step, extent, shown in digits:
        at, value = divmod(at, shown)
        found += value * extent // shown * step
    return found


# ---- the arrangement


class _Pair(NamedTuple):
    across: Digit
    down: Digit | None


class _Shape(NamedTuple):
    inside: Digit | None
    levels: list[_Pair]


def _arrangement(digits: Sequence[Digit], wholes: Sequence[int]) -> _Shape:
    """Which digit goes across and which goes down, level by level."""
    inside = None
    if len(digits) > 1:
        first = digits[0]
        channels = first.extent <= _CHANNELS and first.step == 1 and first.extent == wholes[first.dim]
        inside = first if first.dim == F or channels else None
    rest = list(digits[1:] if inside is not None else digits)
    levels: list[_Pair] = []
    while rest:
        across = rest.pop(0)
        # Fields that vary slowest are planes: each is a tile of its own.
        planes = len(rest) == 1 and rest[0].dim == F
        levels.append(_Pair(across, rest.pop(0) if rest and rest[0].dim != across.dim and not planes else None))
    return _Shape(inside, levels)


def _shorten(shape: _Shape, shown: dict[Digit, int], side: int) -> None:
    """Shorten digits until about `side` cells stand along a side, and few enough tiles that their gaps are seen."""
    if not shape.levels:
        return
    most = max(2, side // _CELLS_OF_TILE)
    cells, *tiles = shape.levels
    across: list[Digit] = []
    down: list[Digit] = []
    both: list[Digit] = []
    wraps = cells.down is None and cells.across.extent > LONG
    wide = wrap_width(cells.across.extent) if wraps else cells.across.extent
    high = -(-cells.across.extent // wide) if wraps else cells.down.extent if cells.down else 1
    for level in tiles:
        # A digit alone stands in a row, in a column, or in rows.
        columns = level.across.extent if level.down else _nearest_to_square(level.across.extent, wide, high)
        rows = level.down.extent if level.down else level.across.extent // columns
        (across if level.down or rows == 1 else down if columns == 1 else both).append(level.across)
        if level.down:
            down.append(level.down)
        wide *= columns
        high *= rows
    for axis in ([*across, *both], [*down, *both]):
        fair = 2
        while axis and (fair + 1) ** len(axis) <= most:
            fair += 1
        for digit in axis:
            shown[digit] = min(shown[digit], fair * fair if digit in both else fair)
    squares = math.prod(math.isqrt(shown[digit] - 1) + 1 for digit in both)

    def room(axis: Sequence[Digit]) -> int:
        return max(2, side // (math.prod(shown[digit] for digit in axis) * squares))

    shown[cells.across] = min(shown[cells.across], room(across) * room(down) if wraps else room(across))
    if cells.down:
        shown[cells.down] = min(shown[cells.down], room(down))


def _wrapped(shape: _Shape, order: Mapping[Digit, OrderDigit]) -> tuple[OrderDigit | None, tuple[Level, ...]]:
    """The levels as they are drawn. A digit alone on its level is wrapped into rows if that comes nearer to a square."""
    wide = high = 1
    levels: list[Level] = []
    for number, (across, down) in enumerate(shape.levels):
        own = order[across]
        if down is not None:
            level = Level(own, order[down])
        else:
            columns = own.extent
            if number > 0:
                columns = _nearest_to_square(own.extent, wide, high)
            elif own.extent > LONG:
                columns = wrap_width(own.extent)
            rows = -(-own.extent // columns)
            level = Level(
                own._replace(extent=columns) if columns > 1 else None,
                OrderDigit(own.dim, rows, own.weight * columns) if rows > 1 else None,
            )
        wide *= level.across.extent if level.across else 1
        high *= level.down.extent if level.down else 1
        levels.append(level)
    return order[shape.inside] if shape.inside else None, tuple(levels) or (Level(None, None),)


def _nearest_to_square(extent: int, wide: int, high: int) -> int:
    """The divisor of a number of tiles that, as the length of a row, makes the whole nearest to a square."""
    best, least = extent, math.inf
    for divisor in range(1, min(math.isqrt(extent), 1 << 16) + 1):
        if extent % divisor:
            continue
        for columns in (divisor, extent // divisor):
            width, height = float(columns * wide), float(extent // columns * high)
            ratio = width / height if width > height else height / width
            if ratio < least or (ratio == least and columns > best):
                best, least = columns, ratio
    return best


def wrap_width(extent: int) -> int:
    """The length of a row of a 1-D array of many elements: a power of two, so that the array is about square."""
    width = 1
    while width * width < extent:
        width *= 2
    return width
