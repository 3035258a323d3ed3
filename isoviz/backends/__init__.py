"""Memories and channels of this computer, which move real bytes."""
