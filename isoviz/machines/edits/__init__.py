"""Edits of machines: pure functions that take a machine and return another one."""
