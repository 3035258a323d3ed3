"""Transfers between two ranks of a host over lanes: prepared ones, and submitted ones that come again."""
