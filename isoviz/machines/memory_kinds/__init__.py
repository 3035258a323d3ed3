"""The kinds of memories, a card each. A module of this folder registers them; it is found by its place."""
