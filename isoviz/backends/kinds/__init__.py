"""The device halves of the kinds of this computer. A module of this folder holds them; it is found by its place."""
