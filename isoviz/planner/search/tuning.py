"""The numbers that tune the search on machines whose paths are too many to list.

They decide how long the search takes, and none decides what it finds: `tests/property/test_search.py` holds the result against
brute force. `isoviz bench planner` measures the time on rings, tori and dense machines.
"""

from __future__ import annotations

# ---- rounding

ROUND_DOWN = 1 - 1e-12
"""Bounds are lowered by this factor: NumPy's arrays and Python's numbers round differently."""
TIE = 1e-12
"""Two plans whose T differ by less than this share are equally fast; hops, buffers and names then decide."""
EDGE = 1e-9
"""A range whose ends differ by less than this share is a point and is not cut; a size this close to a limit meets it."""

# ---- boxes

FIRST_CHUNK_RATIO = 4.0
"""In the first boxes the largest chunk is this many times the smallest: wider boxes have bounds too weak to exclude anything."""
BOXES_PER_BATCH = 24
"""The bounds of this many boxes are worked out together, so that NumPy's cost per call is shared."""
HALVE_ABOVE = 0.2
"""A range of the slowest hop wider than this share of T is halved; a narrower one is cut at the time of the best walk."""
PATIENCE_BOXES = 400
"""After this many boxes the search accepts a choice that is proved to be within `ACCEPTED_GAP` of the optimum."""
ACCEPTED_GAP = 1e-4
"""The share of T that the search may leave unproved after `PATIENCE_BOXES`: far below the error of any prediction."""

# ---- paths of a box

LABELS = 100
"""A box is listed if its paths have at most this many beginnings, plus `LABELS_PER_MEMORY` for every memory."""
LABELS_PER_MEMORY = 4
"""Beginnings that a box may have in addition, for every memory of the machine."""
MOST_PATHS = 48
"""A box with more paths than this that may be the best one is halved instead of listed."""
SLACK_STEP = 1.5
"""After a box that could be listed, or could not, the next box is listed up to this many times its slack, or this part of it."""
SLACK_GROWTH = 1.02
"""For every box that is not listed, the slack up to which boxes are listed grows by this factor: listing is tried again."""

# ---- rivals for an explanation

RIVAL_FACTORS = (1.01, 1.05, 1.2, 1.5, 2.0, 4.0)
"""Rivals may take these many times as long as the best choice, one after the other, until `ENOUGH_ROUTES` are known."""
RIVAL_CHUNK_RATIO = 1.05
"""Chunks of rivals are at most this many times larger or smaller than that of the best choice."""
ENOUGH_ROUTES = 40
"""No more rivals are looked for once this many routes are known: an explanation shows fewer."""

# ---- what is kept

MOST_LINKS = 64
"""The channels of this many (machine, nodes) pairs are kept as arrays; one takes a few hundred bytes per channel."""
