"""The compiled half of the copy kernels, in the Python that Numba compiles."""
