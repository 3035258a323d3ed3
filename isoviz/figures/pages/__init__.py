"""Whole pages, to open or to send."""
