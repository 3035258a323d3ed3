"""The tolerances of the programs of section 4.2, the options of HiGHS, and the steps of planning that a solve counts.

The tolerances follow from the arithmetic: numbers are double precision, with a relative error of 1e-16 per operation.
`tests/unit/planner/test_planner_program.py` holds bisection and linear program together to a relative 1e-9.
"""

from __future__ import annotations

# ---- HiGHS

SMALLEST_SLOPE = 1e-12
"""A line of log tp that rises less than this is taken as flat: HiGHS drops coefficients as small as this."""
MIP_OPTIONS = {
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "mip_feasibility_tolerance": 1e-9,
    "small_matrix_value": SMALLEST_SLOPE,
    "random_seed": 0,
}
"""The options of HiGHS: tolerances a tenth of those that plans are held to and below, and a fixed seed, since planning is
deterministic."""
MIP_GAP = 1e-10
"""The absolute gap, in logarithms or relative periods, that HiGHS may leave."""
SOLVE_STEPS = 30
"""Steps (`planner.planning_work`) of solving a mixed-integer program at its root, for every variable and row."""
NODE_STEPS = 5
"""Steps of each further node of the tree of a mixed-integer program, for every variable and row."""
LINEAR_STEPS = 2
"""Steps of solving a linear program, for every variable and row."""
FIRST_TANGENTS = 12
"""Tangents that stand for a smooth function at first, where its best run is not known."""

# ---- equality

ROUNDING = 1e-12
"""Floating-point numbers may bring this relative error into a row: some thousand operations of 1e-16 each."""
NOT_CONCAVE = 1e-12
"""A function is not concave where its hull lies above it by more than this, as a logarithm."""
BINDING = 1e-6
"""A row is binding where its relative slack is at most this: far above `ROUNDING`, far below what a size of one more changes."""
BOUND_TOLERANCE = 1e-9
"""A plan may exceed the bound of its path by this share, the precision to which both ways of solving agree."""
BISECTION_WIDTH = 1e-14
"""Bisection ends where the relative width of its interval is this small."""

# ---- the feasible region and the text of a program

SAME_CORNER = 1e-9
"""Corners of the feasible region that are this close, in logarithms, are one: constraints often meet in a corner."""
WHOLE = 1e-9
"""A size that differs from a whole number by this share is shown as that number."""

# ---- sizes in the middle, and prices

SMALL_SLACK = 1e-5
"""A row that can have no more slack than this, as a logarithm, counts as one that can have none."""
BOUND_SHIFT = 1e-6
"""A bound is moved by this much, as a logarithm, to find its shadow price: a difference well above `ROUNDING`."""
BESIDE = 1e-9
"""A throughput just above or below the optimum differs from it by this share, which exceeds the error of the optimum."""
SECANT_WIDTH = 1e-6
"""The slope of a sampled function is taken over this much of log run."""
