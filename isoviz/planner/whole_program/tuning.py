"""The tolerances of the program of all paths, the limits on its rounds, and the tangents that it begins with."""

from __future__ import annotations

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
FIRST_PERIODS = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 4.0)
"""Where the tangents of exp(−log TP) touch at first, as −log TP: dense near the best throughput, up to 1/50 of it."""
