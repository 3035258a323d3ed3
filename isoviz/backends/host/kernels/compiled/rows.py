"""Rows and columns of a transpose: their offsets, and their prefetch."""

from __future__ import annotations

from numba import njit

from isoviz.backends.host.kernels.compiled.vectors import LINE, fetch, fetch_rows, word


@njit(nogil=True)
def offset(table, step, place):
    """The offset of a row or a column: from a table, or a multiple of a step."""
    if table:
        return word(table + 8 * place)
    return place * step


@njit(nogil=True)
def fetched(source, place, count, rows, row_step, row_table, width, by, near):
    """Prefetch some rows of a strip, `width` bytes each, from a place (row, bytes) on; after the last row, those of the next
    strip, `by` bytes further on. `near` is the first-level cache. The result is the place after them."""
    row, further = place
    for _ in range(count):
        start = source + further + offset(row_table, row_step, row)
        if near:
            for line in range(0, width, LINE):
                fetch(start + line)
            fetch(start + width - 1)
        else:
            for line in range(0, width, LINE):
                fetch_rows(start + line)
            fetch_rows(start + width - 1)
        row += 1
        if row == rows:
            row = 0
            further += by
    return row, further
