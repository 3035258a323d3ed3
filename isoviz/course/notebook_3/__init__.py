"""The exercises of notebook 3: paths and the planner."""

from isoviz.course.notebook_3.blocks_by_hand import BLOCKS_BY_HAND
from isoviz.course.notebook_3.fills import FILLS
from isoviz.course.notebook_3.losing_path import LOSING_PATH
from isoviz.course.notebook_3.missing_channels import MISSING_CHANNELS
from isoviz.course.notebook_3.path_program import PATH_PROGRAM
from isoviz.course.notebook_3.row_prices import ROW_PRICE, RUN_FOR_RATE

EXERCISES = (MISSING_CHANNELS, BLOCKS_BY_HAND, PATH_PROGRAM, ROW_PRICE, FILLS, RUN_FOR_RATE, LOSING_PATH)
