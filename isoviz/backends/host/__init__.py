"""Host memory (SYS), and copies within it."""
