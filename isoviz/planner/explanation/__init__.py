"""Why a plan is what it is, and what would change it."""
