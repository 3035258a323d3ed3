"""The engine: the scheduler in real time, on real memories."""
