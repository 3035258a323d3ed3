"""Plots of numbers, drawn by Bokeh."""
