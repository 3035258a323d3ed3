"""The evaluation of the paper on several paths on Blue Gene/Q (Bui et al., Improving Sparse Data Movement Performance)."""

from isoviz.reproduce.bgq.assumptions import EVALUATION

__all__ = ["EVALUATION"]
