"""Lanes: prepared transfers between two ranks of one host, carried out without messages, pickles or other threads.

A lane has a page of memory that both ranks map. The receiver writes the number of the transfer that it is ready for (the credit).
The sender moves all bytes and writes the same number (done). A waiting rank yields the processor for some microseconds and then
sleeps on the word (a futex), for some milliseconds at most, so that it can look for lost ranks and cancels in between.

Registered memory is written where it is mapped. Pageable memory of the receiver is written by `process_vm_writev`, up to 1024
pieces in one call. A receiver may cancel while the sender has not begun: each writes its own word first and reads that of the
other one afterwards, with a fence between the two.
"""
