"""Trials: a part of a plan is moved just before a run, and the prediction uses the measured time."""
