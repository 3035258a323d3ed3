"""Host memory (SYS), and copies in it."""
