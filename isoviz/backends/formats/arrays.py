"""How an array lies: its axes, sorted by stride, are matched with the digits of a layout.

A layout is an order in memory. So the order of an array's axes says nothing, and a dense array with permuted axes is taken as it
lies. Files are asked in the same way, by the axes that their headers describe.

- The axes are the digits, fastest first, the padding of short last blocks included, as `relayout` returns them. Fields of one
  type may be an axis, fields of several types a struct of arrays (`isoviz.backends.formats.records.array_of`).
- A flat array of the field's dtype lies in the order of its layout; a flat array of uint8 or a buffer is its bytes.
- The fields of a struct are found by their names. Gaps between them are padding.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isoviz.backends.formats.records import Record, array_of
from isoviz.errors import ArrayError, EmptyArrayError, FileError
from isoviz.layouts import FIELDS, Component, FieldSpace, IndexSpace, Layout, Linearization
from isoviz.layouts.dtypes import dtype_text, is_added
from isoviz.layouts.given_arrays import Array, ArrayForm, bytes_in_order, default_dims, host_array, memory_order, no_elements
from isoviz.layouts.modes import Mode

if TYPE_CHECKING:
    from isoviz.planner import Instance

PerAxis = tuple[int, ...]


class Lying(NamedTuple):
    """How an array lies, in the words of the data model."""

    space: IndexSpace
    record: Record
    layout: Layout


class Axes(NamedTuple):
    """The axes of an array as its layout sees them.

    - `what`: the array, for errors.
    - `order`: the numbers of the axes, fastest first. `extents`: their lengths in that order.
    - `error`: the type of errors.
    """

    what: str
    dtype: np.dtype[Any]
    shape: PerAxis
    order: PerAxis
    extents: PerAxis
    error: type[ArrayError | FileError] = ArrayError

    @classmethod
    def of(cls, form: ArrayForm, what: str) -> Axes:
        """The axes of an array.

        Raises:
            ArrayError: it is not dense, or its elements have no bytes of their own.
        """
        order = memory_order(form, what)
        return cls(what, form.dtype, form.shape, order, tuple([form.shape[axis] for axis in order]))

    @property
    def order_unless_c(self) -> PerAxis | None:
        """The order of the axes; None for C order."""
        return None if self.order == tuple(range(len(self.order)))[::-1] else self.order

    @property
    def is_empty(self) -> bool:
        """Whether the array has no elements."""
        return 0 in self.extents

    @property
    def with_elements(self) -> Axes:
        """The axes of such an array that is not empty: every length 0 is replaced by 1."""
        return self._replace(extents=tuple([max(extent, 1) for extent in self.extents]))

    @property
    def record(self) -> Record:
        """The fields of an entry."""
        try:
            return Record.of(self.dtype, self.what)
        except FileError as error:
            raise self.error(str(error)) from None

    def of_sub_arrays(self, fields: FieldSpace) -> Axes:
        """The axes without those of the fields, where these are sub-arrays: `(3,)f4` for the last axis of an array of float32."""
        each = fields.dtypes[0]
        if self.dtype != each.base or each.subdtype is None or any(other != each for other in fields.dtypes):
            return self
        inner, count = each.shape[::-1], math.prod(each.shape)
        if self.extents[: len(inner)] == inner:
            return self._replace(dtype=each, extents=self.extents[len(inner) :])
        if len(self.extents) == 1 and self.extents[0] % count == 0:
            return self._replace(dtype=each, extents=(self.extents[0] // count,))
        return self


def lying(axes: Axes, layout: Layout | None = None, space: IndexSpace | None = None, fields: FieldSpace | None = None) -> Lying:
    """How an array lies in a layout.

    `layout` defaults to the array's own, with axes named …, `z`, `y`, `x` (x the last). `space` defaults to the sizes that follow
    from the axes. Where it is known, a flat array is taken, and axes of length 1 may be anywhere. `fields` default to those of
    the dtype, or to `f0`, `f1`, … where the fields form an axis.

    Raises:
        ArrayError, FileError (`axes.error`): layout, space or fields do not fit the array, or it has no elements.
        LayoutError: the layout does not fit the space.
    """
    if axes.is_empty:
        raise (EmptyArrayError if axes.error is ArrayError else axes.error)(no_elements(axes.what, axes.shape))
    if layout is None:
        names = default_dims(len(axes.shape))
        layout = Layout((FIELDS, *(Component(names[axis]) for axis in axes.order)))
    digits: PerAxis = ()
    if space is not None:
        digits = _digits(layout, space)
        if fields is not None:
            axes = axes.of_sub_arrays(fields)
            if _are_bytes(axes, layout.on(space, fields)):
                return Lying(space, Record.of_fields(fields), layout)
        axes = axes._replace(extents=_with_axis_for_each_digit(axes, layout, digits, fields))
    record, found = _record_and_extents(axes, layout, fields)
    if space is None:
        space = _space(layout, found)
        digits = _digits(layout, space)
    if found != digits:
        raise axes.error(
            f"{axes.what}: shape {axes.shape} does not fit layout {layout} on ({space}): its axes, fastest first, have"
            f" {_list(found)}; expected {_list(digits)}{_own_layout(layout, digits, found)}"
        )
    if record.has_gaps and layout.components[0] is not FIELDS:  # the same order for one field; the gaps stay beside it
        layout = Layout.unchecked((FIELDS, *_components(layout)))
    return Lying(space, record, layout)


def _are_bytes(axes: Axes, linearization: Linearization) -> bool:
    """Whether an array is the plain bytes of a linearization.

    Raises:
        ArrayError, FileError (`axes.error`): it is flat and has another length, or its elements are those of no field.
    """
    dtype, fields = axes.dtype, linearization.fields
    if dtype.names is not None:
        return False
    is_of_field = any(same_dtype(dtype, each) for each in fields.dtypes)
    if len(axes.extents) == 1 and (is_of_field or dtype == np.uint8):
        nbytes = axes.extents[0] * dtype.itemsize
        if nbytes != linearization.nbytes:
            raise axes.error(
                f"{axes.what}: has {nbytes} bytes of {dtype}; layout {linearization.layout} on ({linearization.space}) with"
                f" fields {{{fields}}} needs {linearization.nbytes}"
            )
        return dtype == np.uint8
    if not is_of_field:
        raise axes.error(f"{axes.what}: its elements are {dtype_text(dtype)}; expected {{{fields}}}")
    return False


def _digits(layout: Layout, space: IndexSpace) -> PerAxis:
    """The extents of all digits, fastest first, padding included."""
    return tuple([part.extent for part in layout.on(space, _ANY).parts if isinstance(part, Mode)])


_ANY = FieldSpace(value="u1")


def _list(numbers: PerAxis) -> str:
    return f"({', '.join(map(str, numbers))})"


def _space(layout: Layout, extents: PerAxis) -> IndexSpace:
    """The dimension sizes that follow from the extents of a layout's digits, assuming no ragged blocks."""
    found = dict.fromkeys(layout.dims, 1)
    for digit, extent in zip(_components(layout), extents, strict=True):
        found[digit.dim] *= extent
    return IndexSpace.of(found)


def _components(layout: Layout) -> list[Component]:
    return [part for part in layout.components if isinstance(part, Component)]


def _own_layout(layout: Layout, digits: PerAxis, found: PerAxis) -> str:
    """The array's own layout, for an error, where the lengths of its axes tell which digits they are."""
    if sorted(digits) != sorted(found) or len(set(digits)) != len(digits):
        return ""
    names = dict(zip(digits, _components(layout), strict=True))
    parts: list[Any] = [names[extent] for extent in found]
    parts.insert(layout.components.index(FIELDS), FIELDS)
    return f"; its own layout is {Layout.unchecked(tuple(parts))}"


def _with_axis_for_each_digit(axes: Axes, layout: Layout, digits: PerAxis, fields: FieldSpace | None) -> PerAxis:
    """The axes of a flat array, or of one with other axes of length 1, as its layout needs them. Others are not changed."""
    dtype, extents = axes.dtype, axes.extents
    place = layout.components.index(FIELDS)
    expected = digits
    if dtype.names is not None:
        if place and len(extents) <= len(digits) - place and len(dtype.names) > 1:
            expected = digits[place:]  # a struct of arrays
    elif fields is not None and len(fields) > 1:
        expected = (*digits[:place], len(fields), *digits[place:])
    elif fields is None and len(_long(extents)) == len(_long(digits)) + 1:
        return extents  # one axis is that of the fields
    is_flat = len(extents) == 1 and extents[0] == math.prod(expected)
    return expected if is_flat or _long(extents) == _long(expected) else extents


def _long(extents: PerAxis) -> PerAxis:
    return tuple([extent for extent in extents if extent != 1])


def _record_and_extents(axes: Axes, layout: Layout, fields: FieldSpace | None) -> tuple[Record, PerAxis]:
    """The fields of the array, and the extents of its digits, fastest first (without the axis of the fields)."""
    what, dtype, extents = axes.what, axes.dtype, axes.extents
    place = layout.components.index(FIELDS)
    digits = len(layout.components) - 1
    if dtype.names is not None:
        found = _struct(axes, layout, place, digits)
    elif len(extents) == digits and (fields is None or len(fields) == 1):
        record = axes.record
        if fields is not None:
            record = replace(record, stored=FieldSpace.of({fields.names[0]: dtype}), names=fields.names)
        found = record, extents
    elif len(extents) == digits + 1:
        count = extents[place]
        if fields is None:
            fields = FieldSpace.of({f"f{i}": dtype for i in range(max(count, 1))})
        if len(fields) != count:
            raise axes.error(f"{what}: its axis of fields has length {count}, but {len(fields)} fields were given ({fields})")
        record = Record.of_fields(FieldSpace.of(dict.fromkeys(fields.names, dtype)))
        found = record, extents[:place] + extents[place + 1 :]
    else:
        raise axes.error(
            f"{what}: shape {axes.shape} of {dtype} has {len(axes.shape)} axes, layout {layout} needs {digits} (or {digits + 1},"
            " one of them for fields of one type)"
        )
    _check_fields(axes, found[0], fields)
    return found


def _struct(axes: Axes, layout: Layout, place: int, digits: int) -> tuple[Record, PerAxis]:
    """A structured array: either `F` is fastest, or the components faster than `F` are sub-arrays."""
    what, dtype, extents = axes.what, axes.dtype, axes.extents
    assert dtype.names is not None and dtype.fields is not None
    if len(extents) == digits and (place == 0 or len(dtype.names) == 1):
        record = axes.record
        if len(record.names) > 1 and place:
            raise axes.error(f"{what}: {dtype} keeps its fields together; layout {layout} does not (F must be the fastest)")
        return record, extents
    if len(extents) != digits - place:
        raise axes.error(
            f"{what}: shape {axes.shape} of a struct does not fit layout {layout}: expected {digits} axes with F first,"
            f" or {digits - place} axes of a struct of arrays"
        )
    formats: dict[str, np.dtype[Any]] = {}
    shapes = set()
    at = 0
    for name in dtype.names:
        found, start = dtype.fields[name][:2]
        base, shape = found.subdtype if found.subdtype is not None else (found, ())
        if len(shape) < place or start != at:
            raise axes.error(f"{what}: {dtype} is not the struct of arrays that layout {layout} needs: see field {name!r}")
        shapes.add(shape[:place])
        formats[name] = np.dtype((base, shape[place:])) if shape[place:] else base
        at += found.itemsize
    if len(shapes) != 1 or at != dtype.itemsize:
        raise axes.error(f"{what}: {dtype} is not the struct of arrays that layout {layout} needs: its arrays differ in shape")
    (outer,) = shapes
    return Record.of_formats(formats), (*outer[::-1], *extents)


def _check_fields(axes: Axes, record: Record, fields: FieldSpace | None) -> None:
    """Require the dtypes that fields have, whatever their order. A struct may lack some of them."""
    if fields is None:
        return
    expected = dict(zip(fields.names, fields.dtypes, strict=True))
    for name, found in zip(record.names, record.formats, strict=True):
        if name not in expected:
            raise axes.error(f"{axes.what}: has the fields {', '.join(record.names)}; expected {', '.join(fields.real_names)}")
        if not same_dtype(found, expected[name]):
            raise axes.error(f"{axes.what}: field {name!r} is {dtype_text(found)}; expected {dtype_text(expected[name])}")


def same_dtype(found: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    """Whether two dtypes are the same, with their byte order. Plain bytes (`V8`) stand for what files cannot name (bfloat16)."""
    if found == expected:
        return True
    return found.itemsize == expected.itemsize and any(
        one.type is np.void and one.names is None and one.subdtype is None and (other.type is np.void or is_added(other))
        for one, other in ((found, expected), (expected, found))
    )


def lying_empty(axes: Axes, layout: Layout | None, space: IndexSpace | None, fields: FieldSpace | None) -> Lying:
    """How such an array that is not empty lies (`Axes.with_elements`).

    Raises:
        ArrayError, FileError (`axes.error`): a space is given, which is never empty; or the layout does not fit.
    """
    return lying(axes if space is not None else axes.with_elements, layout, None, fields)


def held_by_empty(axes: Axes, layout: Layout) -> tuple[object, ...]:
    """What an empty array would hold, equal for two of them that fit: the sizes of the dimensions, and the fields by name.

    Raises:
        ArrayError, FileError (`axes.error`): the layout does not fit it, or has blocks, which an empty dimension cannot have.
    """
    found = lying_empty(axes, layout, None, None)
    empty_array(axes, found, layout)
    _, extents = _record_and_extents(axes, layout, None)
    sizes = {digit.dim: extent for digit, extent in zip(_components(layout), extents, strict=True)}
    record = found.record
    names = record.names if axes.dtype.names is not None else ("",) * len(record.names)
    return sorted(sizes.items()), sorted(zip(names, map(dtype_text, record.formats), strict=True))


def empty_array(axes: Axes, found: Lying, target: Layout) -> tuple[np.dtype[Any], PerAxis]:
    """Dtype and shape of an empty array in another layout. `found` is its `lying_empty`.

    Raises:
        ArrayError, FileError (`axes.error`): the layout has blocks, which an empty dimension cannot have.
    """
    if any(len(digits) > 1 for layout in (found.layout, target) for digits in layout.digits.values()):
        raise axes.error(f"{axes.what}: is empty (shape {axes.shape}); an empty array has no blocks")
    _, extents = _record_and_extents(axes, found.layout, None)
    empty = {digit.dim for digit, extent in zip(_components(found.layout), extents, strict=True) if extent == 0}
    parts = target.on(found.space, found.record.fields).parts
    zeroed = [part._replace(extent=0) if isinstance(part, Mode) and part.dim in empty else part for part in parts]
    return array_of(zeroed, found.record, axes.what)


class Fit(NamedTuple):
    """How an array lies where an instance is expected.

    - `order`: the memory order of its axes; None for C order.
    - `fields`, `layout`: its own, if the fields of an entry lie otherwise than the instance says; else None.
    """

    order: PerAxis | None
    fields: FieldSpace | None
    layout: Layout | None


@lru_cache(maxsize=4096)
def fit(memory: str, end: str, linearization: Linearization, *form: Any) -> Fit:
    """How an array lies where an instance with this linearization is expected. `form` is its `ArrayForm`.

    Raises:
        ArrayError: it does not fit; the words name its own layout where the lengths of its axes tell it.
    """
    axes = Axes.of(ArrayForm(*form), f"{end} array for {memory}")
    fields = linearization.fields
    found = lying(axes, linearization.layout, linearization.space, fields)
    stored = found.record.stored
    if (stored.names, stored.starts, stored.nbytes) == (fields.names, fields.starts, fields.nbytes):
        return Fit(axes.order_unless_c, None, None)
    return Fit(axes.order_unless_c, stored, found.layout)


@lru_cache(maxsize=256)
def lying_as(instance: Instance, fields: FieldSpace | None, layout: Layout | None) -> Instance | None:
    """An instance with the fields where an array has them (`Fit`); None where they lie as it says."""
    return None if fields is None or layout is None else instance.lying_as(fields, layout)


def opened_array(given: Any, instance: Instance, end: str) -> tuple[Array, Instance | None]:
    """The bytes of an array or a buffer in host memory that fits an instance: uint8, one axis, not copied.

    With them comes the instance as the array lies, where the fields of an entry lie otherwise: with gaps, or in another order.

    Raises:
        ArrayError: it does not fit, or it is the destination and is read-only.
    """
    memory = instance.memory
    array: Array = given if type(given) is np.ndarray else host_array(given, f"{end} array for {memory}")
    order, fields, layout = fit(memory, end, instance.linearization, array.dtype, array.shape, array.strides)
    if end == "destination" and not array.flags.writeable:
        raise ArrayError(f"{end} array for {memory}: is read-only")
    lies = None if fields is None else lying_as(instance, fields, layout)
    return array.reshape(-1).view(np.uint8) if order is None else bytes_in_order(array, order), lies


def sent_array(given: Any, instance: Instance, end: str) -> tuple[Array, bool]:
    """An array as another process gets it, not copied: its bytes; a struct of gaps and fields, flat, where that lies otherwise.

    The second value tells which: whether its fields lie as the instance says.

    Raises:
        ArrayError: as `opened_array`.
    """
    found, lies = opened_array(given, instance, end)
    return (found, True) if lies is None else (found.view(in_memory_order(host_array(given, end).dtype)), False)


def in_memory_order(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A struct with its fields named in the order in which they lie."""
    fields: Any = dtype.fields
    names = sorted(dtype.names or (), key=lambda name: fields[name][1])
    formats, offsets = [fields[name][0] for name in names], [fields[name][1] for name in names]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": dtype.itemsize})
