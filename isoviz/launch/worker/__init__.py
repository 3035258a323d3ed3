"""What a rank runs: its program, its service of a client, and its part of plans."""
