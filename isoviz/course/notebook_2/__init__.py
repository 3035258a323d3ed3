"""Notebook 2, what a change of layout costs: prefix, suffix, run, shuffle size."""

from isoviz.course.notebook_2.blocks_of_two_sizes import BLOCKS_OF_TWO_SIZES
from isoviz.course.notebook_2.fastest_conversion import FASTEST_CONVERSION
from isoviz.course.notebook_2.measured_conversions import measured_conversions
from isoviz.course.notebook_2.predicted_run import PREDICTED_RUN
from isoviz.course.notebook_2.runs_in_order import RUNS_IN_ORDER
from isoviz.course.notebook_2.shuffle_size import SHUFFLE_SIZE
from isoviz.course.notebook_2.three_hops import THREE_HOPS

EXERCISES = (PREDICTED_RUN, SHUFFLE_SIZE, RUNS_IN_ORDER, THREE_HOPS, BLOCKS_OF_TWO_SIZES, FASTEST_CONVERSION)
__all__ = ["EXERCISES", "measured_conversions"]
