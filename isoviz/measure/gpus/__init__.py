"""Measurements of the GPUs of this computer."""
