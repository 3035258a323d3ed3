"""Notebook 1, layouts: components, fields, offsets, strides, digits, blocks, padding."""

from isoviz.course.notebook_1.dragged_layout import DRAGGED_LAYOUT
from isoviz.course.notebook_1.located_byte import LOCATED_BYTE
from isoviz.course.notebook_1.numpy_arrays import NUMPY_ARRAYS
from isoviz.course.notebook_1.padded_blocks import PADDED_BLOCKS
from isoviz.course.notebook_1.predicted_byte import PREDICTED_BYTE
from isoviz.course.notebook_1.rearranged_array import REARRANGED_ARRAY
from isoviz.course.notebook_1.vector_lanes import VECTOR_LANES

EXERCISES = (
    PREDICTED_BYTE,
    DRAGGED_LAYOUT,
    LOCATED_BYTE,
    NUMPY_ARRAYS,
    PADDED_BLOCKS,
    REARRANGED_ARRAY,
    VECTOR_LANES,
)
