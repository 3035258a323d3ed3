"""Run under mpiexec: `isoviz.redistribute` in a program of ranks, with arrays of this rank; prints what rank 0 saw as JSON."""

from __future__ import annotations

import json
import sys

import numpy as np

import isoviz
from isoviz.errors import DistributionError
from isoviz.launch.rank_session import is_rank_program, rank_session


def main(way: str) -> None:
    session = rank_session()
    space, fields = isoviz.IndexSpace(x=48, y=40), isoviz.FieldSpace(value="float64")
    rows = isoviz.DistributedInstance(space, fields, isoviz.Distribution({"y": session.size}), isoviz.Layout("<F, x, y>"))
    dealt = isoviz.Distribution({"x": session.size}, {"x": 4})
    columns = isoviz.DistributedInstance(space, fields, dealt, isoviz.Layout("<F, y, x>"), "reg")
    numbers = np.arange(48 * 40, dtype=np.float64).reshape(40, 48)
    mine = numbers[rows.coordinates(session.rank)["y"]]
    done = isoviz.redistribute(rows, columns, array=mine)
    assert done.report.verified
    assert done.array is not None
    assert np.array_equal(done.array, numbers.T[columns.coordinates(session.rank)["x"]])
    assert done.part(session.rank) is done.array
    back = np.zeros_like(mine)
    isoviz.redistribute(columns, rows, array=done.array, into=back)
    assert np.array_equal(back, mine)
    generated = isoviz.redistribute(rows, columns)
    assert generated.report.verified
    more = isoviz.DistributedInstance(space, fields, isoviz.Distribution({"y": session.size + 1}), isoviz.Layout("<F, x, y>"))
    try:
        isoviz.redistribute(rows, more)
    except DistributionError as error:
        words = str(error)
    if way == "error" and session.rank == 1:
        raise ValueError("this rank has an error of its own")
    again = isoviz.redistribute(rows, columns, array=mine, verify=False)
    if session.rank == 0:
        found = {"ranks": session.size, "verified": again.report.verified, "words": words, "program": is_rank_program()}
        print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
