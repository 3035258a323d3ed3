"""Paths and plans that are given by hand."""
