"""The tolerances of the program of all paths, the limits on its rounds, and the tangents that it begins with."""

from __future__ import annotations

from isoviz.planner.program.tuning import SMALLEST_SLOPE

MIP_OPTIONS = {
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "mip_feasibility_tolerance": 1e-9,
    "small_matrix_value": SMALLEST_SLOPE,
    "random_seed": 0,
}
"""The options of HiGHS: tolerances a tenth of `TOLERANCE` and below, and a fixed seed, since planning is deterministic."""
MIP_GAP = 1e-10
"""The absolute gap, in logarithms or relative periods, that HiGHS may leave: a hundredth of `TOLERANCE`."""
SOLVE_STEPS = 30
"""Steps (`planner.planning_work`) of solving a mixed-integer program at its root, for every variable and row."""
NODE_STEPS = 5
"""Steps of each further node of the tree of a mixed-integer program, for every variable and row."""
LINEAR_STEPS = 2
"""Steps of solving a linear program, for every variable and row."""
TOLERANCE = 1e-8
"""A path is the best one if the bound exceeds what the path sustains by at most this share."""
NO_SLACK = 1e-7
"""A row with less slack than this, in logarithms, is binding: ten times `TOLERANCE`."""
PRESENT = 1e-9
"""A logarithm of at most this is 0: the digit is not kept."""
MOST_SECONDS = 60.0
"""The planning time of the program unless the options say otherwise."""
MOST_ROUNDS = 40
"""Programs with further tangents at most; a handful suffice."""
FIRST_TANGENTS = 12
"""Tangents that stand for a smooth function at first; further ones are added where a solution needs them."""
FIRST_PERIODS = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 4.0)
"""Where the tangents of exp(−log TP) touch at first, as −log TP: dense near the best throughput, up to 1/50 of it."""
