"""Ranks as a machine: the preset `ranks`, and the probe that measures the channels between ranks."""
