"""Layouts: index spaces, field spaces, linearization orders, comparisons of layouts, and strided copies between layouts."""

from isoviz.layouts.chunks import Chunk, ChunkSequence
from isoviz.layouts.compare import Comparison, OrderChange, compare, order_change
from isoviz.layouts.copies import ListedCopy, StridedCopy
from isoviz.layouts.geometry import View, strided_copies, view_of_array
from isoviz.layouts.hardware import WarpLoad, pieces_along, warp_load
from isoviz.layouts.layout import Layout, Linearization, Location
from isoviz.layouts.lists import EntryList
from isoviz.layouts.modes import FIELDS, Component, FieldsComponent, Mode
from isoviz.layouts.numpy_copy import apply
from isoviz.layouts.spaces import Box, FieldSpace, IndexSpace

__all__ = [
    "FIELDS",
    "Box",
    "Chunk",
    "ChunkSequence",
    "Comparison",
    "Component",
    "EntryList",
    "FieldSpace",
    "FieldsComponent",
    "IndexSpace",
    "Layout",
    "Linearization",
    "ListedCopy",
    "Location",
    "Mode",
    "OrderChange",
    "StridedCopy",
    "View",
    "WarpLoad",
    "apply",
    "compare",
    "order_change",
    "pieces_along",
    "strided_copies",
    "view_of_array",
    "warp_load",
]
