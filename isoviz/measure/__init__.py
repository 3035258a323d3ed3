"""Measurements of this computer: the probe, quick measurements, trials of plans, and the cache of results."""
