"""The layouts of the buffers between the two ends of a path."""
