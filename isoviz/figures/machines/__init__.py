"""Figures of machines."""
