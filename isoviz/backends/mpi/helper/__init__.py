"""The helper of a rank: a thread that serves one-sided requests of the ranks of its host, without MPI and without Python.

After the host-assisted protocols of ARMCI (Tipparaju et al., *Host-Assisted Zero-Copy Remote Memory Access Communication on
InfiniBand*, section 5). A client writes a request into a ring in memory that both ranks map. The helper is one compiled loop. It
carries out copies, strided or from a table of runs, and read-modify-writes with the atomics of the processor. It works
independently of what its rank computes meanwhile, in Python or not.
"""
