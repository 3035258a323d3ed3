"""The numbers that tune plans of several paths."""

from __future__ import annotations

LEAST_GAIN = 2e-3
"""A further path has to save this share of the time: it costs an engine requests and buffers."""
PLAN_GAIN = 5e-3
"""Several paths have to save this share of the time of one path."""
MOST_CHOSEN = 64
"""With more paths than this, as of large groups of transfers, the program does not choose which of them to leave out."""
ALIKE = 8
"""Of many paths those take the same time whose bytes differ by less than one part in this."""
MOST_PATHS = 16
"""Paths of one transfer at most. A Blue Gene/Q node has nine neighbours, a node of eight GPUs has eight NICs."""
MOST_PROXIES = 6
"""Proxies of a path over a network at most. Nine paths on Blue Gene/Q have up to three or four (Bui et al., section 5.3)."""
MOST_PRICED = 12
"""Paths of a transfer at most that the prices of links add to those of the flow; a few suffice."""
FEW_LINKS = 64
"""On a machine with at most this many links, paths that begin soon are looked for as well, besides those of the flow."""
FEW_PATHS, FEW_REQUESTS = 6, 2000
"""In the end parts move from path to path: on a machine with few links, and over a network with at most this many paths. Those
take at most this many requests together, or the program knows little about them."""
MOST_QUICK = 8
"""Paths at most that begin soon."""
FIRST_PARTS = (4, 2, 16)
"""A path is first timed for one part in each of these numbers. A small part has small chunks, which cost more per byte."""
FIRST_WAYS = (3, 6)
"""Where the layout changes, the most promising paths are tried first: at most these many, then all."""
MOST_ROUNDS = 4
"""Rounds at most in which shares and paths are fitted to each other."""
MOST_BALANCED = 8
"""Rounds at most in which bytes are given from paths that end late to those that end early."""
ROUND_GAIN = 1e-3
"""A round that saves less than this share is the last one."""
SURE_GAIN = 1e-6
"""A path is cheaper than the paths so far if it saves more than this share: less is rounding."""
FINE_PARTS = 256
"""A dimension is cut at whole pages, or at whole blocks, where each path then has about this many parts to choose from."""
LARGEST_SHIFT, SMALLEST_SHIFT = 3 / 8, 1 / 64
"""Parts of a transfer that move from one path to another, as shares of its bytes."""
SHIFT_GAIN = 1e-4
"""Such a part moves if it saves more than this share of the time."""
PAGE = 4096
"""Cuts fall on multiples of this many bytes where that costs no precision: disks read pages, and kernels like them."""
AUTO_GAIN = 0.05
"""`auto` takes several paths where they save more than this share."""
HOPE = 1.03
"""Shares are planned where the program, which knows times only nearly, promises at most this many times the best time."""
NEARLY_AS_GOOD = 1.25
"""A route over the channels of a path is worth a try for other parts if it takes at most this many times the best time."""
PATIENCE = 5
"""Routes over the channels of a path are tried, the least bound first, until this many in a row were no better."""
MOST_ROUTES = 3
"""The best of these routes, at most this many."""
EVEN_LOSS = 1e-3
"""Chunks of equal length are tried where a short last chunk costs more than this share of the time of a path."""
PATH_STEPS = 1000
"""Steps (`planner.planning_work`) of the plan of a path, besides working out the choices of its routes."""
FOLLOWED_STEPS = 35
"""Steps of following a request of paths that share links."""
FURTHER_STEPS = 2500
"""Steps of one more path, as far as they are known before: its plans, and its part of the program."""
LINK_STEPS = 3
"""Steps of a channel of the machine, or of a router of a network, in the search for disjoint paths."""
STEADY_STEPS = 10_000
"""Steps of the program for the steady state, with the paths that its prices add."""
