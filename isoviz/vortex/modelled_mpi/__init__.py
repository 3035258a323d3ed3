"""MPI over InfiniBand, modelled: what programs on a Data Vortex are compared with."""
