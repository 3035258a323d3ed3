"""Channels from the memories of a rank to those of other ranks."""
