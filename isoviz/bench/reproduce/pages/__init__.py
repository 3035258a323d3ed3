"""A reproduction as charts, tables and pages."""
