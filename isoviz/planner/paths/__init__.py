"""The paths of a machine that can be optimal, and the dominance between paths."""
