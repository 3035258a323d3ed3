"""The device halves of the kinds of this computer. The modules of this folder hold them and are found by listing it."""
