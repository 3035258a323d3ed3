"""The evaluations of papers, repeated in simulation: `isoviz reproduce PAPER`.

An evaluation is a package here, or an entry point of an installed package, with an `Evaluation` and the experiments that its
modules declare. The modules of this folder are independent of any paper.
"""

from isoviz.reproduce.assumption import Depends, assumed
from isoviz.reproduce.claim import Claim
from isoviz.reproduce.evaluation import Evaluation, Reproduction, reproduce
from isoviz.reproduce.experiment import experiment
from isoviz.reproduce.plots import Bar, Bars, Columns, Curves, Group, Row, Shown, bars_of, by_column, named, under

__all__ = [
    "Bar", "Bars", "Claim", "Columns", "Curves", "Depends", "Evaluation", "Group", "Reproduction", "Row", "Shown", "assumed",
    "bars_of", "by_column", "experiment", "named", "reproduce", "under",
]  # fmt: skip
