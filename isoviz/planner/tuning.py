"""The numbers that tune the choice of block sizes and chunk for one route.

`tests/property/test_full_planner.py` holds the choices against brute force: on small problems no number here changes the optimum.
`python -m benchmarks planner` measures the planning time that they cost. Numbers without a derivation are plain choices.
"""

from __future__ import annotations

# ---- how many sizes are tried

MOST_SIZES_TRIED = 64
"""Up to this number of sizes, all are tried. A section search takes about ten evaluations, but may miss the best whole size."""
MOST_SIZES_NOT_CONVEX = 2048
"""Up to this many sizes all are tried where T may have several minima: that covers all round numbers below 2⁶⁴ (about 1,000)."""
MOST_PAIRS_TRIED = 256
"""Up to this many pairs of sizes all are tried even where T is convex: sizes are whole, and a search may stop beside the best."""
MOST_EVEN_PARTS = 16
"""A digit is cut into up to this many parts of equal size; with more parts, what a short last part costs is below one in 16."""

# ---- equal times

TIE = 1e-12
"""Two times that differ by less than this share are equal: the evaluations differ by rounding alone."""
BOUND_SLACK = 1e-9
"""A bound may exceed the time that it bounds by this share, because both are sums of rounded terms."""

# ---- chunks

MOST_BOXES = 16
"""A chunk consists of at most this many boxes: an engine issues each box as requests of its own."""
FEW_CHUNKS = 256
"""A transfer of at most this many chunks keeps the chunks of the least T: their cost to an engine is small beside T."""
CHUNK_GROWTH_SHARE = 1e-3
"""Larger or fewer chunks may cost this share of T: T is flat at its minimum, and predictions err by several per cent."""

# ---- blocks on disks

PAGE_DEVIATION = 8
"""A size is rounded to whole pages if that changes it, and the number of parts, by at most one part in this many."""

# ---- search for the best throughput

BRACKET_FACTOR = 1.4
"""The search for the best throughput begins and ends with this factor between its points; a parabola does the rest."""
CHUNK_STEP = 1.1
"""Where requests cost time, the block for a throughput is known up to this factor; its neighbours are tried afterwards."""
FIRST_SHORTFALL = 1 / 16
"""The search assumes at first that the best throughput lies this share below the peak."""
MOST_SHORTFALL = 1e6
"""Throughputs below the peak by more than this factor are not searched: such a steady state costs more than any fill can save."""
PEAK_SHARE = 0.97
"""If the cuts for the peak itself take less time than those for this share of it, the peak is taken."""

# ---- routes without buffers

UNBUFFERED_UNIT = 32 << 20
"""Chunks of a route without buffers are a multiple of this many bytes: the default limit of a slot."""
UNBUFFERED_LEAST_SECONDS = 5e-4
"""Chunks of a route without buffers take about this many predicted seconds at least: Python takes a tenth of it for a chunk, in
which a GPU copies 200 MB of its own memory."""
UNBUFFERED_MOST = 256 << 20
"""Chunks of a route without buffers have at most this many bytes, unless they take less than the least time, so that progress and
cancelling stay responsive."""
UNBUFFERED_SECONDS = 0.5
"""Chunks of a route without buffers take about this many predicted seconds at most, for the same reason."""

# ---- steps (`planner.planning_work`)

WORKED_OUT_STEPS = 200
"""Steps of the best choice of a path, besides those of asking a clock."""
ASKED_STEPS = 7
"""Steps of asking a clock for T, with the choice that it is asked for."""
