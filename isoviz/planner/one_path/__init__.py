"""The best layouts, block sizes and chunk for one route."""
