"""The six conversions of 2.P measured on this computer, beside what was predicted. No mark depends on it."""

from __future__ import annotations

import html
from collections.abc import Mapping

from isoviz.course.exercise import Given
from isoviz.course.kinds import array_of, linear_of
from isoviz.course.notebook_2.fastest_conversion import FASTEST_CONVERSION, SOURCE, TARGETS, predicted_seconds

MEMORY = "node0.sys"


class MeasuredConversions:
    """Predicted and measured seconds by name. Its picture has both as multiples of the shortest."""

    def __init__(self, given: Given, measured: Mapping[str, float]) -> None:
        self.given = given
        self.predicted = predicted_seconds(given)
        self.measured = dict(measured)

    @property
    def regret(self) -> float:
        """How many times as long as the fastest measured conversion the one takes that was predicted to be the fastest."""
        chosen = min(self.predicted, key=lambda name: self.predicted[name])
        return self.measured[chosen] / min(self.measured.values())

    def __str__(self) -> str:
        chosen, fastest = (min(each, key=lambda name: each[name]) for each in (self.predicted, self.measured))
        slow, fast = self.given["slow"], self.given["fast"]
        words = {
            "chosen": chosen, "fastest": fastest, "regret": f"{self.regret:.3g}",
            "predicted_ratio": f"{self.predicted[slow] / self.predicted[fast]:.3g}",
            "measured_ratio": f"{self.measured[slow] / self.measured[fast]:.3g}",
        }  # fmt: skip
        return FASTEST_CONVERSION.text("says", "measured", given=self.given, **words)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from isoviz.figures.charts.bars import NamedBar, bars_svg
        from isoviz.units import format_seconds

        least = [min(each.values()) for each in (self.predicted, self.measured)]
        bars = [
            NamedBar(
                f"{name} {TARGETS[name]}", tuple((one / by, format_seconds(one)) for one, by in zip(both, least, strict=True))
            )
            for name, *both in sorted(
                ((name, seconds, self.measured[name]) for name, seconds in self.predicted.items()), key=lambda row: row[1]
            )
        ]
        title = FASTEST_CONVERSION.text("says", "measured picture", given=self.given)
        picture = bars_svg(bars, title, series=("predicted", "measured here"))
        return f"<p>{html.escape(str(self))}</p>{picture}"


def measured_conversions(given: Given, repeats: int = 5) -> MeasuredConversions:
    """Run each conversion of the exercise on this computer `repeats` times, in turn; the medians count. It takes some seconds.

    Raises:
        IsovizError: this computer cannot run them; the message says why.
    """
    from isoviz.machines import preset
    from isoviz.measure.local_engine import measure_layouts
    from isoviz.planner import LayoutChoice, Options, Use
    from isoviz.planner.layout_choice.find_layout import ranked_layout
    from isoviz.planner.transfer import Instance
    from isoviz.runtime.ledger.ledger import unrecorded

    machine, options = preset("local", measure="assumed"), Options(planner="direct")
    uses = (Use.from_(MEMORY, SOURCE),)
    orders = {name: linear_of(given, TARGETS[name]) for name in given["names"]}
    ranked = {name: ranked_layout(order, MEMORY, uses, machine, options) for name, order in orders.items()}
    array = Instance(MEMORY, *array_of(given), orders[given["names"][0]].layout)
    every = tuple(ranked.values())
    choice = LayoutChoice(array, uses, machine.name, machine.digest, options, every, every, len(every), len(every), False)
    with unrecorded():  # rates that are assumed say nothing about this computer
        found = measure_layouts(choice, machine, count=len(every), repeats=repeats)
    seconds = {str(each.candidate.layout): each.weighted for each in found}
    return MeasuredConversions(given, {name: seconds[str(candidate.layout)] for name, candidate in ranked.items()})
