"""The layout of the memory of each rank that all ranks map, in words of 8 bytes. The memory of its VIC comes first.

What different ranks write, or write and read all the time, lies in different lines of the caches.
"""

from __future__ import annotations

from isoviz.vortex.packet import COUNTERS, WORDS

LINE = 8
"""Words of a line of the caches."""
SETS = WORDS
"""A line for each group counter. Its words: what is left to come, what was expected, how many came before."""
LEFT, EXPECTED, EARLY = range(3)
STATE = SETS + LINE * COUNTERS
"""What the program here does: the number of its run and one of `RUNNING` and the others; how often it began or ended a wait; how
often it looked in vain."""
TURN, LOOKS = 1, 2
RUNNING, WAITING, ENDED, FAILED = range(4)
FIFOS = STATE + LINE
"""For each VIC that sends: a line of its own and one of this VIC, then its ring of the words in the FIFO."""
TAIL, SIGN, HEAD = 0, 1, LINE
"""How many words it has put into its ring; its last sign for a barrier; how many words were taken from its ring."""
PAIR = 2 * LINE


def size(nodes: int, room: int) -> int:
    """The words of a rank, with rings of `room` words."""
    return FIFOS + (PAIR + room) * nodes
