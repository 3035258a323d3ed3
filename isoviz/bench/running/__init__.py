"""Benchmarks of the engine and the simulator."""
