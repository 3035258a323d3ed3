"""Run under mpiexec: `isoviz.redistribute` in a program of ranks, with arrays of this rank; prints what rank 0 saw as JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np

import isoviz
from isoviz.errors import DistributionError, ForkedError, IsovizError
from isoviz.launch.this_rank import RankSession, is_rank_program, rank_session


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
    again_and_again(session, rows, columns, numbers)
    outside_of_windows(rows, columns, mine, numbers.T[columns.coordinates(session.rank)["x"]])
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
        found["text"] = str(again)
        print(json.dumps(found))


def outside_of_windows(rows: isoviz.DistributedInstance, columns: isoviz.DistributedInstance, mine: Any, theirs: Any) -> None:
    """Arrays of the caller in `reg`, which the other ranks cannot map: there and back, prepared, and both at once."""
    into, back, source = np.zeros_like(theirs, order="C"), np.zeros_like(mine), mine.copy()
    with (
        isoviz.prepare_redistribution(rows, columns, array=source, into=into) as there,
        isoviz.prepare_redistribution(columns, rows, array=into, into=back) as here,
    ):
        for turn in (1, 2):
            source[:] = mine * turn
            report = there.run(verify=turn == 1)
            assert np.array_equal(into, theirs * turn) and there.array is not None and np.shares_memory(there.array, into)
            assert any("an array of the destination lies outside" in note for note in report.notes), report.notes
            report = here.run(verify=True)
            assert np.array_equal(back, mine * turn)
            assert any("an array of the source lies outside" in note for note in report.notes), report.notes
    done = isoviz.redistribute(columns, columns, array=into, into=np.zeros_like(into))
    assert done.array is not None and np.array_equal(done.array, into)


def again_and_again(
    session: RankSession, rows: isoviz.DistributedInstance, columns: isoviz.DistributedInstance, numbers: np.ndarray
) -> None:
    """The same redistribution with new contents and new arrays, after errors, prepared, and in a forked child."""
    held, theirs = rows.coordinates(session.rank)["y"], columns.coordinates(session.rank)["x"]
    mine = numbers[held]
    for turn in range(6):
        array, into = mine * turn, session.world.array((len(theirs), 40), np.float64)  # The former ones have gone.
        isoviz.redistribute(rows, columns, array=array, into=into, verify=False)
        assert np.array_equal(into, numbers.T[theirs] * turn)
        array *= 2
        isoviz.redistribute(rows, columns, array=array, into=into, verify=turn % 2 == 0)
        assert np.array_equal(into, numbers.T[theirs] * 2 * turn)
        provided = isoviz.redistribute(rows, columns, array=mine, verify=False).array
        assert provided is not None
        assert np.array_equal(into, numbers.T[theirs] * 2 * turn)
        assert np.array_equal(provided, numbers.T[theirs])
        for wrong in ({"array": mine[:-1]}, {"array": None}, {"verify": True}):
            try:
                isoviz.redistribute(rows, columns, **({"array": mine, "verify": False} | (wrong if session.rank == 1 else {})))
            except IsovizError:
                pass
            else:
                raise AssertionError(f"no error: {wrong}")
    into[:] = 0
    with isoviz.prepare_redistribution(rows, columns, array=array, into=into) as prepared:
        for turn in range(5):
            array[:] = mine * turn
            prepared.run()
            assert np.array_equal(into, numbers.T[theirs] * turn)
    child = os.fork()
    if not child:
        try:
            isoviz.redistribute(rows, columns, array=mine, verify=False)
        except ForkedError:
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


if __name__ == "__main__":
    main(sys.argv[1])
