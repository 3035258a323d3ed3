"""The rank driver: one engine in each process of a group, which carry out plans together (DESIGN, section 3)."""
