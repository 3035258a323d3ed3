"""Pages: one HTML file with the components of the explorer and all that they show, to open, to send, to print."""
