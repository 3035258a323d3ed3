"""MPI ranks: the thread that calls MPI, messages, memory that ranks share, channels between ranks, and the devices of a rank.

Importing this package does not import mpi4py. Only `isoviz.backends.mpi.thread.mpi_thread` imports it, when its thread starts.
"""
