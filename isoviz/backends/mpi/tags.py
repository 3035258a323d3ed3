"""Tags of the messages between ranks: which part of a rank a message is for."""

from __future__ import annotations

CONTROL = 1
"""Messages of the transport's users."""
BEAT = 2
"""A sign of life."""
CLOCK, CLOCK_ANSWER = 3, 4
"""A question for the clock, and its answer."""
BYE = 5
"""The sender leaves; with a reason if it had an error."""
STORES = 6
"""Requests to the stores of a rank, and answers."""
