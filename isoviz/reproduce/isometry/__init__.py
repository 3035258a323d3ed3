"""The evaluation of the Isometry paper (Jia et al., ICS '18)."""

from isoviz.reproduce.isometry.evaluation import reproduce

__all__ = ["reproduce"]
