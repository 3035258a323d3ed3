"""The constraint program of one path: bisection with a scalar test, and one linear program in PuLP (Isometry, section 4.2)."""
