"""Transfers of entries that index arrays name."""
