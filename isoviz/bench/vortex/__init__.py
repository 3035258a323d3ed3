"""`isoviz bench vortex`: the Data Vortex, simulated, beside naive simulators."""
