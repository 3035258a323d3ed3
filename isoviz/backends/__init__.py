"""Real memories and channels: what moves bytes on this computer."""
