"""The kinds of channels, one card each. The modules of this folder register them and are found by listing it."""
