"""The papers whose evaluations can be computed again."""

from __future__ import annotations

PAPERS = {"isometry": "Jia et al., Isometry (ICS '18), section 6"}
"""Name → paper."""
