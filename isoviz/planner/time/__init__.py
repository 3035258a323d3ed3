"""The time model: the predicted time of one path and of several paths together."""
