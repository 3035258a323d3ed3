"""Array files and arrays as instances: formats, dtypes and field names."""
