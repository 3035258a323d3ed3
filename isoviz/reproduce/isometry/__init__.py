"""The evaluation of the Isometry paper (Jia et al., ICS '18)."""

from isoviz.reproduce.isometry.assumptions import EVALUATION

__all__ = ["EVALUATION"]
