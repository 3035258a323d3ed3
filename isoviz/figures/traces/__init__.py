"""Figures of runs over time."""
