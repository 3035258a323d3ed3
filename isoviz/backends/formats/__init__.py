"""Array files and arrays as instances: formats, dtypes, names."""
