"""The scheduler: stimuli in, instructions out; no threads, no clocks, no memory. And virtual time, which carries them out."""
