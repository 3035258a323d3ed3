"""The ledger: earlier runs, what was predicted of them, and what was measured."""
