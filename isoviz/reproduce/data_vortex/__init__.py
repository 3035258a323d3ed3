"""The evaluation of the paper on the Data Vortex (Gioiosa et al., Exploring DataVortex Systems for Irregular Applications)."""

from isoviz.reproduce.data_vortex.assumptions import EVALUATION

__all__ = ["EVALUATION"]
