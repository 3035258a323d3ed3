"""Figures of plans and of their explanations."""
