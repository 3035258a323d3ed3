"""What has been chosen in the explorer: settings, their edits, their file, and examples to begin from."""
