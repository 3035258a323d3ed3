"""Measurements of this computer: the probe, brief or long, trials of plans, and the cache of results."""
