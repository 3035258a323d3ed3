"""Runs of the explorer: carried out, compared and reported."""
