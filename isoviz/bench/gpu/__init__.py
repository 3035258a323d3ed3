"""Benchmarks of GPUs."""
