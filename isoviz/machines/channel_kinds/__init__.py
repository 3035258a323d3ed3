"""The kinds of channels, a card each. A module of this folder registers them; it is found by its place."""
