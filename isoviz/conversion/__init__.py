"""Conversion of array files from one layout to another, out of core."""
