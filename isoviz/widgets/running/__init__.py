"""Runs of the explorer: carried out, compared, told of."""
