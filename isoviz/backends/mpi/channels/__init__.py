"""Channels from the memories of a rank to those of other ranks. The modules of this folder are found by listing it."""
