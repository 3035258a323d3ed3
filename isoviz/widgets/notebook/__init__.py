"""What an explorer does for the notebook that shows it: it keeps its settings, and it draws for viewers without a kernel."""
