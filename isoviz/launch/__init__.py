"""Ranks for notebooks, scripts and the shell: processes that MPI starts, connected to the program that asked for them."""
