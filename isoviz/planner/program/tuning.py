"""The tolerances of the constraint program of one path, and the limits on its rounds.

They follow from the arithmetic: numbers are double precision (relative error 1e-16 per operation), and HiGHS meets a row within
1e-10 in the numbers that it gets. `tests/unit/planner/test_planner_program.py` holds bisection and the direct program together to
a relative 1e-9.
"""

from __future__ import annotations

# ---- numbers for HiGHS

UNIT = 1000.0
"""A logarithm of 1 is this number for HiGHS. Its tolerances are absolute, 1e-10 at best, so they are 1e-13 in logarithms."""
SMALLEST_SLOPE = 1e-12
"""A line of log tp that rises less than this is taken as flat: HiGHS drops coefficients as small as this."""
LP_OPTIONS = {
    "presolve": "off",  # takes longer than it saves in programs of a dozen rows
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "small_matrix_value": SMALLEST_SLOPE,
}
"""The options of HiGHS for a linear program: the tightest tolerances that it accepts."""

# ---- equality

ROUNDING = 1e-12
"""Floating-point numbers may bring this relative error into a row: some thousand operations of 1e-16 each."""
ROW_ERROR = 2e-13
"""HiGHS may miss a row by this much, as a logarithm: its tolerance divided by `UNIT`, and a second such error."""
VIOLATION = 1e-12
"""The solution may lie above a smooth function by this much, as a logarithm; beyond it, a tangent is added."""
BINDING = 1e-6
"""A row is binding where its relative slack is at most this: far above `ROUNDING`, far below what a size of one more changes."""
BOUND_TOLERANCE = 1e-9
"""A plan may exceed the bound of its path by this share, the precision to which both ways of solving agree."""

# ---- the feasible region and its text

SAME_CORNER = 1e-9
"""Corners of the feasible region that are this close, in logarithms, are one: constraints often meet in a corner."""
WHOLE = 1e-9
"""A size that differs from a whole number by this share is shown as that number."""

# ---- rounds

BISECTION_WIDTH = 1e-12
"""Bisection ends where the relative width of its interval is this small."""
MOST_BISECTION_STEPS = 400
"""Steps of a bisection at most: no interval of double-precision numbers can be halved more often in logarithms."""
MOST_CUTS = 60
"""Rounds of tangents at most; a handful suffice."""

# ---- sizes in the middle, and prices

SMALL_SLACK = 1e-4
"""The slack asked of each row, as a logarithm: so small that every row that can have slack has it together with the others."""
BOUND_SHIFT = 1e-6
"""A bound is moved by this much, as a logarithm, to find its shadow price: a difference well above `ROUNDING`."""
BESIDE = 1e-9
"""A throughput just above or below the optimum differs from it by this share, which exceeds the error of the optimum."""
SECANT_WIDTH = 1e-6
"""The slope of a sampled function is taken over this much of log run."""
