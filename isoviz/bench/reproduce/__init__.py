"""Evaluations of papers again, in simulation, beside what the papers state: `isoviz reproduce PAPER`.

Machines are presets that were fixed beforehand; nothing is tuned to the answers. What a paper does not say is assumed in one
place (`assumptions`), and every assumption is also halved and doubled (`sensitivity`).
"""

from __future__ import annotations

PAPERS = {"isometry": "Jia et al., Isometry (ICS '18), section 6"}
"""Name → paper."""
