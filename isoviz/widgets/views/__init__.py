"""Views alone in a notebook."""
