"""The errors of requests: what they are called, and what stays as it is."""

from __future__ import annotations

from isoviz.errors import Cancelled, RankLost, RunError
from isoviz.runtime.engine.device_errors import of_request


def placed(kind: type[RunError], message: str) -> RunError:
    return kind(f"at a place: {message}")


def test_a_lost_rank_and_a_cancel_stay_what_they_are() -> None:
    for error in (RankLost("rank 3 no longer answers", rank=3), Cancelled("cancelled")):
        assert of_request(error, placed) is error


def test_other_errors_name_their_place_and_cause() -> None:
    for raised in (OSError("no space"), RunError("no space")):
        error = of_request(raised, placed)
        assert type(error) is RunError and str(error).startswith("at a place: ") and error.__cause__ is raised
