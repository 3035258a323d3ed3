"""Benchmarks of disks and files."""
