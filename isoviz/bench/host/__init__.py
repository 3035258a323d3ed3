"""Benchmarks of copies in host memory."""
