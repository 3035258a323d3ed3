"""The figures and tables of Isometry, section 6, each computed again."""
