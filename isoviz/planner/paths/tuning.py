"""The numbers that decide which machines get a list of their undominated routes, and how many lists are cached."""

from __future__ import annotations

MOST_LABELS = 1000
"""Beginnings of routes that a list may need. More take longer than many transfers: the machine is searched instead."""
MOST_COST_CLASSES = 24
"""Channels of different cost that a machine with a list may have: with more of them few routes dominate others."""
RELAYS_PER_CLASS = 2
"""Interchangeable nodes, besides those of the ends, that a path may pass through: two relays of one class are the most that a
path with one conversion can use, one before it and one after it."""
MOST_MACHINES = 8
"""The routes of this many machines are cached, those used last."""
