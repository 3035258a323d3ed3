"""Redistributions at work: prepared, run, verified and reported by the ranks of an engine."""
