"""Rows and columns of a transposition: where they begin, and how they are fetched before they are read."""

from __future__ import annotations

from numba import njit

from isoviz.backends.host.kernels.compiled.vectors import LINE, fetch, fetch_rows, word


@njit(nogil=True)
def offset(table, step, place):
    """Where a row or a column begins: from a table, or so many steps on."""
    if table:
        return word(table + 8 * place)
    return place * step


@njit(nogil=True)
def fetched(source, place, count, rows, row_step, row_table, width, by, near):
    """Have some rows of a strip, `width` bytes from `source`, fetched from a place (row, bytes) on, and those of the next strip,
    `by` bytes further on, after them; `near`: into the first-level cache. The place after these."""
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
