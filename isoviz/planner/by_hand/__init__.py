"""Paths and plans that somebody gives by hand."""
