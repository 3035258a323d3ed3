"""Sets of coordinates that parts of two distributions have in common, and where they lie in the instances that hold them."""
