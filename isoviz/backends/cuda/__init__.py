"""GPUs: memories, channels and kernels for CUDA devices. Nothing here needs a driver until a device is used."""
