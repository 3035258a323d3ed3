"""The scheduler: values in, values out; no threads, no clocks, no memory."""
