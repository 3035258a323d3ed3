"""Paths through a machine: which ones can win, and which ones another path beats."""
