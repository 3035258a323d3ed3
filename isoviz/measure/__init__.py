"""Measurements of this computer: the probe, quick measurements, trials of plans, and what is kept of them."""
