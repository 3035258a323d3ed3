"""Channels from the memories of a rank to those of other ranks. A module of this folder is found by its place."""
