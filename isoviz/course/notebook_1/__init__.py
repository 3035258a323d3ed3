"""Notebook 1, layouts: components, fields, offsets, strides, digits, blocks, padding."""

from isoviz.course.notebook_1.predicted_byte import PREDICTED_BYTE

EXERCISES = (PREDICTED_BYTE,)
