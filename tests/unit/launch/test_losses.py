"""What is said of a lost rank."""

from __future__ import annotations

from isoviz.launch.losses import Evidence, loss


def test_a_lost_rank_is_named_before_all_have_said_who_they_are() -> None:
    error = loss(Evidence(said=[(3, "was given up: an odd message")]), [], [], "start them again")
    assert str(error) == "rank 3 was given up: an odd message; start them again"


def test_what_no_rank_is_blamed_for_names_none() -> None:
    assert "rank" not in str(loss(Evidence(status=7), [], [], "start them again"))
