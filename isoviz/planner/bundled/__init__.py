"""Bundles: several transfers as one."""
