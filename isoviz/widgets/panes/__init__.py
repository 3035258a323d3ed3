"""Panes of the explorer, kernel half: what each adds to the snapshot."""
