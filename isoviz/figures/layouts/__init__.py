"""Figures of layouts."""
