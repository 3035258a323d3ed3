"""The scheduler: stimuli in, instructions out; no threads, no clocks, no memory."""
