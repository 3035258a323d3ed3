"""Layouts of the buffers between the two ends of a path."""
