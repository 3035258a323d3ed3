"""Transfers between MPI ranks, beside MPI itself, NumPy and memcpy in the same run."""
