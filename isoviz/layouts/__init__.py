"""Layouts: index spaces, field spaces, linearization orders, their comparison, and the strided copies between them."""

from isoviz.layouts.chunks import Chunk, ChunkSequence
from isoviz.layouts.compare import Comparison, compare
from isoviz.layouts.geometry import StridedCopy, View, strided_copies
from isoviz.layouts.layout import FIELDS, Component, FieldsComponent, Layout
from isoviz.layouts.linearization import Linearization, Location, Mode
from isoviz.layouts.numpy_copy import apply
from isoviz.layouts.spaces import Box, FieldSpace, IndexSpace

__all__ = [
    "FIELDS",
    "Box",
    "Chunk",
    "ChunkSequence",
    "Comparison",
    "Component",
    "FieldSpace",
    "FieldsComponent",
    "IndexSpace",
    "Layout",
    "Linearization",
    "Location",
    "Mode",
    "StridedCopy",
    "View",
    "apply",
    "compare",
    "strided_copies",
]
