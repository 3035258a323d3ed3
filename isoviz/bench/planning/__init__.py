"""Benchmarks of planning."""
