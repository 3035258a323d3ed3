"""VICs on MPI ranks: programs that run on simulated VICs run on them unchanged."""
