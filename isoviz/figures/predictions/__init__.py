"""Figures of predictions beside what was measured."""
