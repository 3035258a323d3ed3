"""Index spaces, field spaces and boxes: the content of an instance, independent of its order (Isometry, section 2)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from isoviz import checks
from isoviz.checks import expect
from isoviz.errors import SpaceError, show
from isoviz.layouts.dtypes import dtype_of, dtype_text, is_gap, stored_fields

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_BYTES = 2**63 - 1
"""The largest size of an instance, in bytes: offsets are signed 64-bit numbers in NumPy, `pread` and MPI."""

_DIMENSION = re.compile(r"[^\W\d]\w*")
_DIGIT_NAME = re.compile(r"(.+)_(in|out|\d+)")


def check_dimension(name: object) -> str:
    """`name`, if it is valid for a dimension.

    Raises:
        SpaceError: the name is not an identifier, or is `F` (the field space in layouts) or the name of a digit such as `x_in`.
    """
    if not isinstance(name, str) or not _DIMENSION.fullmatch(name):
        raise SpaceError(f"dimension {name!r}: expected a name of letters, digits and underscores, such as 'x'")
    if name == "F":
        raise SpaceError("dimension 'F': F stands for the field space in layouts; choose another name")
    if match := _DIGIT_NAME.fullmatch(name):
        raise SpaceError(f"dimension {name!r}: would read as a digit of dimension {match[1]!r}; choose another name")
    return name


@dataclass(frozen=True, init=False, repr=False)
class IndexSpace:
    """An ordered set of named dimensions with sizes: `IndexSpace(x=4096, y=4096)`.

    An index is a tuple with one coordinate per dimension, in the order of the dimensions. This order does not determine the
    storage order; the layout does.

    Raises:
        SpaceError: a name is invalid, a size is not a whole number of at least 1, or there are more than 2⁶³ − 1 points.
    """

    dims: tuple[str, ...]
    sizes: tuple[int, ...]
    volume: int = field(init=False, compare=False)
    """The number of points."""
    _size_of: dict[str, int] = field(init=False, compare=False)

    def __init__(self, given: Mapping[str, int] | None = None, /, **sizes: int) -> None:
        if given is not None:
            expect("index space", given, Mapping, "a size for each dimension, such as x=64 or {'x': 64}")
            sizes = {**given, **sizes}
        for name, size in sizes.items():
            check_dimension(name)
            if isinstance(size, bool) or not isinstance(size, int | np.integer):
                raise SpaceError(f"dimension {name!r}: size {show(size)} is not a whole number")
            if size < 1:
                raise SpaceError(f"dimension {name!r}: size {show(int(size))} is not at least 1")
            if size > MAX_BYTES:
                raise SpaceError(f"dimension {name!r}: size {show(int(size))} is more than 2^63 - 1")
        size_of = {name: int(size) for name, size in sizes.items()}
        volume = math.prod(size_of.values())
        if volume > MAX_BYTES:
            raise SpaceError(f"index space {_sizes_text(sizes)}: more than 2^63 - 1 points")
        object.__setattr__(self, "dims", tuple(size_of))
        object.__setattr__(self, "sizes", tuple(size_of.values()))
        object.__setattr__(self, "volume", volume)
        object.__setattr__(self, "_size_of", size_of)

    @classmethod
    def of(cls, sizes: Mapping[str, int] | IndexSpace) -> Self:
        """The index space with these sizes. An `IndexSpace` is returned as it is; the names of any other mapping are checked."""
        if isinstance(sizes, cls):
            return sizes
        expect("index space", sizes, Mapping, "a size for each dimension, such as {'x': 64}")
        assert isinstance(sizes, Mapping)
        return cls(sizes)

    def __getitem__(self, dim: str) -> int:
        try:
            return self._size_of[dim]
        except (KeyError, TypeError):  # TypeError: a value that no dictionary can hold
            raise SpaceError(f"dimension {show(dim)}: not one of {', '.join(self.dims) or 'none'}") from None

    def __contains__(self, dim: object) -> bool:
        return isinstance(dim, str) and dim in self._size_of

    def __iter__(self) -> Iterator[str]:
        return iter(self.dims)

    def __len__(self) -> int:
        return len(self.dims)

    def as_dict(self) -> dict[str, int]:
        """Name → size, in order."""
        return dict(self._size_of)

    def __str__(self) -> str:
        return _sizes_text(self._size_of)

    def __repr__(self) -> str:
        return f"IndexSpace({self})"


def _sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())


@dataclass(frozen=True, init=False, repr=False)
class FieldSpace:
    """An ordered set of named fields with NumPy dtypes: `FieldSpace(re="float32", im="float32")`.

    Types that the package ml_dtypes adds to NumPy may be given by name, too: `FieldSpace(v="bfloat16")`. Fields are packed,
    without padding between them. The gaps of a structured dtype become fields (`of`). `|F|` (`nbytes`) is the sum of the field
    sizes.

    Raises:
        SpaceError: there is no field, or a dtype is unknown, holds Python objects, has no bytes, or needs ml_dtypes, which is not
            installed.
    """

    names: tuple[str, ...]
    dtypes: tuple[np.dtype[Any], ...]

    def __init__(self, given: Mapping[str, Any] | None = None, /, **dtypes: Any) -> None:
        if given is not None:
            expect("field space", given, Mapping, "a dtype for each field, such as re='f4' or {'re': 'f4'}")
            dtypes = {**given, **dtypes}
        if not dtypes:
            raise SpaceError("field space: needs at least one field, such as value='float64'")
        found: dict[str, np.dtype[Any]] = {}
        for name, given in dtypes.items():
            asked: object = name
            if not isinstance(asked, str) or not asked:
                raise SpaceError(f"field {show(name)}: expected a name")
            try:
                dtype = dtype_of(given)
            except ValueError as error:
                raise SpaceError(f"field {name!r}: {show(given)} is not a NumPy dtype ({error})") from None
            if given is None:
                raise SpaceError(f"field {name!r}: expected a NumPy dtype such as 'float32', not None")
            if dtype.hasobject:
                raise SpaceError(f"field {name!r}: {dtype} holds Python objects, which have no bytes to move")
            if dtype.itemsize < 1:
                raise SpaceError(f"field {name!r}: {dtype} has no bytes; give it a length, such as 'S8'")
            found[name] = dtype
        if sum(dtype.itemsize for dtype in found.values()) > MAX_BYTES:
            raise SpaceError("field space: more than 2^63 - 1 bytes")
        object.__setattr__(self, "names", tuple(found))
        object.__setattr__(self, "dtypes", tuple(found.values()))

    @classmethod
    def of(cls, dtypes: Mapping[str, Any] | np.dtype[Any] | FieldSpace) -> Self:
        """The field space with these dtypes. Names need not be Python identifiers.

        A structured dtype gives its fields in the order of their offsets. Each gap becomes a field, which transfers leave out.

        Raises:
            SpaceError: as for the constructor; or fields of the dtype overlap.
        """
        if isinstance(dtypes, cls):
            return dtypes
        if isinstance(dtypes, np.dtype) and dtypes.names is not None:
            stored, real = stored_fields(dtypes)
            return cls(**{**stored, **real})
        expect("field space", dtypes, Mapping, "a dtype for each field, such as {'re': 'f4'}, or a structured dtype")
        assert isinstance(dtypes, Mapping)
        return cls(dtypes)

    @cached_property
    def real_names(self) -> tuple[str, ...]:
        """The fields that hold data: all but the gaps of a structured dtype."""
        return tuple([name for name in self.names if not is_gap(name)])

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each field."""
        return tuple(int(dtype.itemsize) for dtype in self.dtypes)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The byte at which each field begins in a packed entry."""
        return tuple(int(start) for start in np.cumsum((0, *self.sizes[:-1])))

    @cached_property
    def nbytes(self) -> int:
        """Bytes of one entry: `|F|`."""
        return sum(self.sizes)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The packed structured dtype of one entry."""
        return np.dtype({"names": list(self.names), "formats": list(self.dtypes)})

    @cached_property
    def _index_of(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """The position of a field.

        Raises:
            SpaceError: the field is unknown.
        """
        try:
            return self._index_of[name]
        except (KeyError, TypeError):  # TypeError: a value that no dictionary can hold
            raise SpaceError(f"field {show(name)}: not one of {', '.join(self.names)}") from None

    def subset(self, names: tuple[str, ...] | list[str]) -> FieldSpace:
        """The field space of some fields, in the given order."""
        names = checks.names("field space", names, "names of fields")
        return FieldSpace.of({name: self.dtypes[self.index(name)] for name in names})

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._index_of

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def as_dict(self) -> dict[str, str]:
        """Name → dtype as text. A field space made from these texts has equal dtypes (`isoviz.layouts.dtypes`)."""
        return {name: dtype_text(dtype) for name, dtype in zip(self.names, self.dtypes, strict=True)}

    def __str__(self) -> str:
        return ", ".join(f"{name}: {dtype_text(dtype)}" for name, dtype in zip(self.names, self.dtypes, strict=True))

    def __repr__(self) -> str:
        return f"FieldSpace({self})"


@dataclass(frozen=True)
class Box:
    """A rectangular part of an index space: `lo[d] <= i[d] < hi[d]` in the order of its dimensions."""

    lo: tuple[int, ...]
    hi: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in ("lo", "hi"):
            given = checks.items("box", getattr(self, name), "a coordinate in every dimension")
            numbers = tuple([checks.count("box", name, at, error=SpaceError) for at in given])
            object.__setattr__(self, name, numbers)
        if len(self.lo) != len(self.hi) or any(lo < 0 or hi < lo for lo, hi in zip(self.lo, self.hi, strict=False)):
            raise SpaceError(f"box {self.lo} to {self.hi}: expected 0 <= lo <= hi in every dimension")

    @classmethod
    def unchecked(cls, lo: tuple[int, ...], hi: tuple[int, ...]) -> Box:
        """The box of corners that are known to be valid. They are not checked."""
        box = cls.__new__(cls)
        box.__dict__.update(lo=lo, hi=hi)
        return box

    @classmethod
    def whole(cls, space: IndexSpace) -> Box:
        """The box that covers an index space."""
        expect("box", space, IndexSpace, "an index space")
        return cls((0,) * len(space), space.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        """Extent in each dimension."""
        return tuple([hi - lo for lo, hi in zip(self.lo, self.hi, strict=True)])

    @property
    def volume(self) -> int:
        """The number of points; 1 for a box without dimensions."""
        return math.prod([hi - lo for lo, hi in zip(self.lo, self.hi, strict=True)])
