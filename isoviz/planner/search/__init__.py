"""The search for the best path through machines on which not all paths can be listed."""
