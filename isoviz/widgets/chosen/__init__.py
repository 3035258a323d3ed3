"""What has been chosen in the explorer: settings, their edits, their files, examples to begin from, and the selection."""
