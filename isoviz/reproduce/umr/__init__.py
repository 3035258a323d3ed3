"""The evaluation of the paper on UMR (Suresh et al., Network Assisted Non-Contiguous Transfers for GPU-Aware MPI Libraries)."""

from isoviz.reproduce.umr.assumptions import EVALUATION

__all__ = ["EVALUATION"]
