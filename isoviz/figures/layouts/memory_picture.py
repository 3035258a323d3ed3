"""Memory, byte after byte, coloured by what lies there: the picture of a layout as pixels.

The array has a generated picture: a landscape with a large letter F, so that everybody sees whether it stands or lies. It
belongs to the array, never to a layout: the last axis goes across and an earlier one down. The last axis of an array is the first
dimension of its index space (x, then y, then z).

The browser draws the same, to the bit (`widgets/src/views/memory/paint.ts` and `draw-memory.ts`).
"""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from isoviz.figures.charts.svg import ID, number
from isoviz.figures.layouts.memory_map import LONG, F, MemoryMap, OrderDigit, wrap_width
from isoviz.layouts import Mode

if TYPE_CHECKING:
    from isoviz.figures.charts.svg import Drawing
    from isoviz.layouts import Linearization

Ends = tuple["Linearization", "Linearization"]
Ints = NDArray[np.int64]

_FIELDS = ("#f5a3c0", "#44bb99", "#eedd88", "#77aadd", "#ee8866", "#aaaa00", "#99ddff", "#bbcc33")
_SHORT = 4
"""The most coordinates of a short dimension. The picture does not lie along it if two dimensions are longer."""
_MOST_POINTS = 512
"""The most points of the generated picture along a side."""
_CHANNELS = 3
"""A dimension of three values beside the picture is its red, green and blue."""
_COLOURS = ("red", "green", "blue")
"""A photo has fields of these names; it may have `alpha` too."""
_PADDING = {False: ((164, 174, 184), (226, 231, 236)), True: ((77, 90, 107), (42, 48, 55))}
"""The lines and the ground of padding, on light and dark pages."""
_NARROW = 2
"""The least width of a strip in pixels. The colours of narrower strips are mixed."""


def memory_pixels(memory: MemoryMap, ends: Ends | None, width: int, height: int, *, dark: bool = False) -> NDArray[np.uint8]:
    """The picture as rows of pixels (red, green, blue, opacity). Gaps between tiles are clear.

    `ends` are the layouts at both ends of the path: two dimensions that change places between them are drawn.
    """
    gaps_across, gaps_down = _gaps(memory, width, height)
    columns, strips = _along(memory.across, gaps_across, width, memory.strips)
    rows, _ = _along(memory.down, gaps_down, height, 1)
    slots = len(memory.model) + 1
    shape = (height, width)
    at = np.zeros((slots, *shape), np.int64)
    _add(at, [level.across for level in memory.levels], columns[None, :])
    _add(at, [level.down for level in memory.levels], rows[:, None])
    seen = np.broadcast_to((columns[None, :] >= 0) & (rows[:, None] >= 0), shape)
    lies = np.ones(shape, bool)
    for dim, own in enumerate(memory.model):
        lies &= at[dim] < own.size
    paint = _Paint(memory, ends, dark)
    out = np.zeros((*shape, 4), np.uint8)
    if memory.inside is None:
        colours = paint(at)
    else:
        dim, extent, weight = memory.inside
        size = memory.fields.size if dim == F else memory.model[dim].size
        each = []
        for strip in range(min(extent, -(-size // weight))):
            at[dim] = strip * weight
            each.append(paint(at))
        summed = np.sum([colour for strip, colour in enumerate(each) if not _is_unmixed(paint, strip)], axis=0)
        colours = np.minimum(255, summed // (1 if paint.adds else len(each)))
        for strip, colour in enumerate(each):
            colours = np.where((strips == strip)[None, :, None], colour, colours)
        seen = seen & (strips < len(each))[None, :]
    out[..., :3] = colours
    out[..., 3] = 255
    if memory.has_holes:
        exists = np.broadcast_to(_exists(memory, columns, rows), shape)
        line, ground = _PADDING[dark]
        slanted = (np.arange(width)[None, :] + np.arange(height)[:, None]) % 6 == 0
        out[..., :3] = np.where(lies[..., None], out[..., :3], np.where(slanted[..., None], line, ground))
        seen = seen & exists & (lies | (not memory.is_block))
    out[~seen] = 0
    return out


def draw_memory(
    drawing: Drawing,
    memory: MemoryMap,
    ends: Ends | None,
    x: float,
    y: float,
    width: float,
    height: float,
    scale: int = 2,
    drawn: dict[str, tuple[str, float, float]] | None = None,
) -> None:
    """Draw the picture into a box of a drawing, with `scale` pixels for each unit.

    `drawn` holds the pictures that the drawing has already: it has an equal one once, by a name and the place of the first.

    Its colours have 32 shades of red, green and blue each: nobody sees the difference, and the file has a third of the size.
    """
    pixels = memory_pixels(memory, ends, round(width * scale), round(height * scale))
    pixels[..., :3] = (pixels[..., :3] // 8 * np.uint16(255) + 15) // 31
    image = base64.b64encode(png(pixels)).decode()
    drawn = {} if drawn is None else drawn
    if image in drawn:
        name, first_x, first_y = drawn[image]
        drawing.raw(f'<use href="#{name}" x="{number(x - first_x)}" y="{number(y - first_y)}"/>')
        return
    drawn[image] = name, _, _ = f"{ID}-memory-{len(drawn)}", x, y
    drawing.raw(f'<g id="{name}">')
    drawing.element(
        "image",
        x=x,
        y=y,
        width=width,
        height=height,
        preserveAspectRatio="none",
        style="image-rendering:pixelated",
        href=f"data:image/png;base64,{image}",
    )
    drawing.raw("</g>")


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Pixels as a PNG file."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + 4 * width), np.uint8)  # each row begins with 0: it is not filtered
    rows[:, 1:] = pixels.reshape(height, -1)

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


# ---- along a side


def _gaps(memory: MemoryMap, width: int, height: int) -> tuple[list[int], list[int]]:
    """The gap between tiles by level: wider at higher levels, and none if tiles are too small for it."""
    wanted = max(1, min(6, math.floor(min(width, height) / 48 + 0.5)))
    return _fitting(memory.across, width, wanted), _fitting(memory.down, height, wanted)


def _fitting(counts: Sequence[int], length: int, wanted: int) -> list[int]:
    for unit in range(wanted, 0, -1):
        tiles, total = 1, 0
        for level in range(len(counts) - 1, 0, -1):
            total += tiles * (counts[level] - 1) * unit * level
            tiles *= counts[level]
        if total <= 0.25 * length:
            return [unit * level for level in range(len(counts))]
    return [0] * len(counts)


def _piece(start: float, end: float, count: int, gap: int, piece: int) -> tuple[float, float]:
    """One of `count` pieces of a stretch with gaps between them, in whole pixels as far as there are enough of them."""
    pitch = (end - start + gap) / count

    def edge(at: int) -> float:
        return start + at * pitch if pitch < 2 else start + math.floor(at * pitch + 0.5)

    return edge(piece), end if piece == count - 1 else edge(piece + 1) - gap


def _along(counts: Sequence[int], gaps: Sequence[int], length: int, strips: int) -> tuple[Ints, Ints]:
    """By pixel: its cell (-1 in a gap), and its strip in the cell (-1 if strips are narrower than pixels)."""
    cells = np.full(length, -1, np.int64)
    inside = np.full(length, -1, np.int64)

    def lay(level: int, start: float, end: float, before: int) -> None:
        count, gap = counts[level], gaps[level]
        if level > 0 and (end - start + gap) / count >= 2:
            for piece in range(count):
                lay(level - 1, *_piece(start, end, count, gap, piece), before * count + piece)
            return
        # Cells, or tiles that are narrower than pixels: a pixel shows what is at its middle.
        every = math.prod(counts[: level + 1])
        for pixel in range(max(0, int(start)), min(length, math.ceil(end))):
            cell = min(every - 1, int((pixel + 0.5 - start) * every / (end - start)))
            first = last = 0.0
            if (end - start) / every >= 2:
                for guess in (cell, cell - 1, cell + 1):
                    if not 0 <= guess < every:
                        continue
                    first, last = _piece(start, end, every, 0, guess)
                    if first <= pixel < last:
                        cell = guess
                        break
            cells[pixel] = before * every + cell
            if last - first >= _NARROW * strips:
                inside[pixel] = min(strips - 1, int((pixel + 0.5 - first) * strips / (last - first)))

    lay(len(counts) - 1, 0, length, 0)
    return cells, inside if strips > 1 else np.zeros(length, np.int64)


def _add(at: Ints, digits: Sequence[OrderDigit | None], cells: Ints) -> None:
    """Add to the coordinates what the cells along a side are."""
    weight = 1
    for digit in digits:
        if digit is None:
            continue
        at[digit.dim] += cells // weight % digit.extent * digit.weight
        weight *= digit.extent


def _exists(memory: MemoryMap, columns: Ints, rows: Ints) -> NDArray[np.bool_]:
    """Whether a cell is there: the last row of a wrapped array may end early."""
    place = np.zeros((len(rows), len(columns)), np.int64)
    weight, wide, high = memory.strips, 1, 1
    for across, down in memory.levels:
        for digit, cells, before in ((across, columns[None, :], wide), (down, rows[:, None], high)):
            if digit is not None:
                place += cells // before % digit.extent * weight
                weight *= digit.extent
        wide *= across.extent if across else 1
        high *= down.extent if down else 1
    return place < memory.count


# ---- what lies there


class Axes(NamedTuple):
    """The dimensions along which the picture lies. `down` is -1 for an array of one dimension: it is folded."""

    across: int
    down: int


def picture_axes(sizes: Sequence[int], ends: Ends | None) -> Axes:
    """Of two dimensions, the earlier one goes across and the later one down.

    Of more than two, those are drawn that change places between the ends, or else the longest.
    """
    longer = [dim for dim, size in enumerate(sizes) if size > _SHORT]
    long = longer if len(longer) > 1 else [dim for dim, size in enumerate(sizes) if size > 1]
    if len(long) < 2:
        return Axes(long[0] if long else 0 if sizes else -1, -1)
    pair = _turned(long, *ends) if ends is not None else None
    across, down = sorted(pair or sorted(long, key=lambda dim: (-sizes[dim], dim))[:2])
    return Axes(across, down)


def _turned(dims: Sequence[int], source: Linearization, destination: Linearization) -> tuple[int, int] | None:
    """The first two of some dimensions, in the order of one end, that the other end has in the other order.

    Where one dimension alone moves, past several others, they are the first two of these: an image is then whole at one end.
    """
    before, after = ([dim for dim in _varying(linear) if dim in dims] for linear in (source, destination))
    for place, moved in enumerate(before):
        others, to = [dim for dim in after if dim != moved], after.index(moved)
        if abs(to - place) > 1 and [dim for dim in before if dim != moved] == others:
            first, second = others[min(place, to) :][:2]
            return first, second
    for place, slow in enumerate(before):
        for fast in before[:place]:
            if after.index(slow) < after.index(fast):
                return fast, slow
    return None


def _varying(linear: Linearization) -> list[int]:
    """The dimensions in the order in which they begin to vary."""
    dims = list(linear.space.dims)
    return list(dict.fromkeys(dims.index(part.dim) for part in linear.parts if isinstance(part, Mode) and part.extent > 1))


class _Paint:
    """The colours of the generated picture: of coordinates of the model, and of the field behind them."""

    def __init__(self, memory: MemoryMap, ends: Ends | None, dark: bool) -> None:
        self.sizes = [dim.size for dim in memory.model]
        wholes = [dim.whole for dim in memory.model]
        self.axes = picture_axes(wholes, ends)
        size = self.sizes[self.axes.across] if self.axes.across >= 0 else 1
        self.fold = wrap_width(size) if self.axes.down < 0 and size > LONG else 0
        self.wide = self.fold or size
        self.high = -(-size // self.fold) if self.fold else self.sizes[self.axes.down] if self.axes.down >= 0 else 1
        self.points = landscape(min(self.wide, _MOST_POINTS), min(self.high, _MOST_POINTS))
        own = memory.linear.fields.names
        self.names = [own[memory.fields.coordinate(field)] for field in range(memory.fields.size)]
        # A path may hand the fields on in another order: a field keeps its colour.
        known = ends[0].fields.names if ends is not None else own
        beside = [dim for dim in reversed(range(len(self.sizes))) if dim not in self.axes and self.sizes[dim] > 1]
        one = len(self.names) == 1
        channels = [dim for dim in beside if one and wholes[dim] == self.sizes[dim] == _CHANNELS]
        self.channel = channels[0] if len(channels) == 1 else -1
        self.others = [dim for dim in beside if dim != self.channel]
        self.is_photo = set(_COLOURS) <= set(self.names) <= {*_COLOURS, "alpha"}
        self.tints = None if one or self.is_photo else np.array([field_colour(known.index(name)) for name in self.names])
        self.adds = self.is_photo or self.channel >= 0
        self.nothing = np.array(_PADDING[dark][1])

    def __call__(self, at: Ints) -> Ints:
        across, down = self.axes
        along = at[across] if across >= 0 else np.zeros(at.shape[1:], np.int64)
        u = along % self.fold if self.fold else along
        v = along // self.fold if self.fold else at[down] if down >= 0 else np.zeros_like(along)
        rows, columns = self.points.shape[:2]
        colour = self.points[np.clip(v * rows // self.high, 0, rows - 1), np.clip(u * columns // self.wide, 0, columns - 1)]
        field = np.clip(at[F], 0, len(self.names) - 1)
        if self.tints is not None:
            grey = (2 * colour[..., 0] + 5 * colour[..., 1] + colour[..., 2]) >> 3
            # Dark places stay coloured: a field is known everywhere.
            colour = self.tints[field] * (90 + grey * 165 // 255)[..., None] // 255
        if self.others:
            rank = np.zeros_like(along)
            for dim in self.others:
                rank = rank * self.sizes[dim] + at[dim]
            shades = max(1, math.prod(self.sizes[dim] for dim in self.others) - 1)
            colour = colour * (255 - rank * 140 // shades)[..., None] // 255
        if self.is_photo:
            place = np.array([_COLOURS.index(name) if name in _COLOURS else F for name in self.names])[field]
            colour = np.where(place[..., None] == np.arange(3), colour, 0)
            colour[place == F] = 255
        elif self.channel >= 0:
            colour = np.where(at[self.channel][..., None] == np.arange(3), colour, 0)
        gaps = np.array([name.startswith("(gap at ") for name in self.names])
        return np.where(gaps[field][..., None], self.nothing, colour)


def _is_unmixed(paint: _Paint, strip: int) -> bool:
    """Opacity adds nothing to the colour of a pixel."""
    return paint.is_photo and strip < len(paint.names) and paint.names[strip] == "alpha"


_MOUNTAINS = (0, 76, 38, 38, 52, 62, 66, 46, 96, 80)
_SNOW = (28, 52, 35, 50, 39, 54, 43, 49, 48, 56)
_MEADOW = (0, 80, 30, 72, 70, 82, 96, 76)
"""Lines of the scene, which is 96 wide and high: heights at some places from left to right."""


@lru_cache(maxsize=60)
def landscape(columns: int, rows: int) -> Ints:
    """The landscape in points (rows, columns, red green blue): each is the mean of nine colours in it."""
    part = np.arange(3)
    u = ((np.arange(columns)[:, None] + (part + 0.5) / 3) / columns).reshape(-1)
    v = ((np.arange(rows)[:, None] + (part + 0.5) / 3) / rows).reshape(-1)
    fine = _scene(u[None, :] * 96, v[:, None] * 96)
    summed: Ints = fine.reshape(rows, 3, columns, 3, 3).sum(axis=(1, 3))
    return summed // 9


def _scene(x: Any, y: Any) -> Ints:
    """The colours of the scene. All is a little darker to the right and downwards: no two places are quite alike."""
    x, y = np.broadcast_arrays(x, y)
    share = y / 96
    colour = np.stack([40 + 210 * share, 84 + 106 * share, 168 - 48 * share], axis=-1)
    rock = y >= _height(_MOUNTAINS, x, 96)
    letter = (x < 16) & (y < 50) | (x < 36) & (y < 16) | (x < 30) & (y >= 25) & (y < 33)
    things = (  # from the back to the front
        ((x - 74) * (x - 74) + (y - 22) * (y - 22) < 121, 0xFFECAA),
        (rock, 0x3A4268),
        (rock & (y < _height(_SNOW, x, 0)), 0xECF0FA),
        (y >= _height(_MEADOW, x, 96), 0x247854),
        ((x >= 66) & (x < 84) & (y >= 68) & (y < 84), 0xB03428),
        ((y < 68) & (y >= 56) & (x >= 75 - (y - 56)) & (x < 75 + (y - 56)), 0x701E1E),
        ((x >= 72) & (x < 78) & (y >= 74) & (y < 84), 0xFADC8C),
        ((x >= 8) & (y >= 8) & letter, 0xFFFFFF),
    )
    for where, thing in things:
        colour[where] = _rgb(thing)
    light = 1 - (0.14 * x + 0.07 * y) / 96
    return np.asarray(np.floor(colour * light[..., None]), dtype=np.int64)


def _height(line: Sequence[int], x: Any, beside: int) -> Any:
    """The height of a line at places; `beside` where the line is not."""
    found = np.full(x.shape, float(beside))
    for left, top, right, bottom in reversed(list(zip(line[::2], line[1::2], line[2::2], line[3::2], strict=False))):
        here = (x >= left) & (x <= right)
        found = np.where(here, top + (bottom - top) * (x - left) / (right - left), found)
    return found


def _rgb(colour: int) -> tuple[int, int, int]:
    return colour >> 16, colour >> 8 & 255, colour & 255


def field_colour(field: int) -> tuple[int, int, int]:
    """The colour of a field. More than eight fields go through the colours again, darker each time."""
    turn, place = divmod(field, len(_FIELDS))
    colour = _rgb(int(_FIELDS[place][1:], 16))
    if turn == 0:
        return colour
    lightness, a, b = _to_lab(colour)
    chroma, hue = math.hypot(a, b), math.atan2(b, a) * 180 / math.pi
    angle = (hue + 20 * (turn // 3)) * math.pi / 180
    return _from_lab(lightness - 0.15 * (1 + (turn - 1) % 2), chroma * math.cos(angle), chroma * math.sin(angle))


def _to_lab(colour: tuple[int, int, int]) -> tuple[float, float, float]:
    """A colour in OKLab, where equal distances look equal."""
    shares = (value / 255 for value in colour)
    red, green, blue = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares)
    long = math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue)
    middle = math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue)
    short = math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    return (
        0.2104542553 * long + 0.793617785 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.428592205 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.808675766 * short,
    )


def _from_lab(lightness: float, a: float, b: float) -> tuple[int, int, int]:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
    return (
        _coded(4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short),
        _coded(-1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short),
        _coded(-0.0041960863 * long - 0.7034186147 * middle + 1.707614701 * short),
    )


def _coded(value: float) -> int:
    share = max(0.0, min(1.0, value))
    return math.floor(255 * (12.92 * share if share <= 0.0031308 else 1.055 * share ** (1 / 2.4) - 0.055) + 0.5)
