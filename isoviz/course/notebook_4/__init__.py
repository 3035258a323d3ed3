"""Notebook 4, pipelines: chunks, slots, buffers, fill and set-up."""

from isoviz.course.notebook_4.buffer_orders import BUFFER_ORDERS
from isoviz.course.notebook_4.chunk_sizes import CHUNK_SIZES
from isoviz.course.notebook_4.designed_pipeline import DESIGNED_PIPELINE
from isoviz.course.notebook_4.hidden_cause import HIDDEN_CAUSE
from isoviz.course.notebook_4.predicted_times import ONE_SLOT, PREDICTED_TIME

EXERCISES = (PREDICTED_TIME, CHUNK_SIZES, ONE_SLOT, HIDDEN_CAUSE, BUFFER_ORDERS, DESIGNED_PIPELINE)
