"""GPUs of ranks: their registered memory as GPUs reach it, and what the MPI library does with addresses of GPU memory."""
