"""The evaluation of the paper on ARMCI (Tipparaju et al., Host-Assisted Zero-Copy Remote Memory Access on InfiniBand)."""

from isoviz.reproduce.armci.assumptions import EVALUATION

__all__ = ["EVALUATION"]
