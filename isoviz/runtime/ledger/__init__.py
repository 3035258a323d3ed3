"""The ledger: earlier runs with predicted and measured times, and the prediction intervals that follow from them."""
