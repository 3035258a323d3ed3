"""What was computed again, as charts, tables and pages."""
