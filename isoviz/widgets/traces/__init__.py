"""Traces in the explorer: plans simulated, traces packed for the browser, a simulation told step by step."""
