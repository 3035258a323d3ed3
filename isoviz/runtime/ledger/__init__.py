"""The ledger: earlier runs, predicted and measured, and the intervals that they give to trials."""
