"""What measures isoviz itself: `python -m benchmarks SUITE`, from the root of the repository."""
