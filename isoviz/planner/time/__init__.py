"""How long a path takes."""
