"""How a plan changes along its chunks, sizes, limits and runs: curves and maps."""
