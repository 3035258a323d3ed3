"""The constraint program of one path, built and solved with PuLP (Isometry, section 4.2)."""
