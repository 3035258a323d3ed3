"""Layouts, block sizes and chunk of one path."""
