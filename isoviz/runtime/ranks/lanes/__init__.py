"""Prepared transfers between two ranks of a host, over lanes."""
