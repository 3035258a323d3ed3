"""Branch and bound over the paths of machines that have too many paths to list."""
