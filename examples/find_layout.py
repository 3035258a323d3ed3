"""The layout of an array file that is written once by rows and read many times in strips of columns.

    python examples/find_layout.py

The machine is the one of Isometry's two-node example, so nothing runs here. With a measured machine (`isoviz.probe()`),
`isoviz.measure_layouts` runs the best candidates on this computer.
"""

from __future__ import annotations

import isoviz
from isoviz import FieldSpace, IndexSpace, Use

SPACE = IndexSpace(x=2048, y=1024)
FIELDS = FieldSpace(re="float32", im="float32")
USES = (
    Use.from_("node0.sys", "<F, x, y>"),
    Use.to("node0.sys", "<F, y, x>", shape={"x": 16}, weight=500),
)


def main() -> None:
    """Print the ranked layouts, the trade-off, and the best one under a demand."""
    choice = isoviz.find_layout(SPACE, FIELDS, "node0.dsk", USES, "two-node")
    print(choice)
    print("\nwhat is gained against what (seconds of use 1, of use 2):")
    for each in choice.trade_off():
        print(f"  {each.times[0]:.4f}  {each.times[1]:.6f}  {each.layout}")
    together = isoviz.find_layout(SPACE, FIELDS, "node0.dsk", USES, "two-node", order=("x", "y"), most_plans=60)
    print(f"\nthe best with x before y inside blocks: {together.best}")


if __name__ == "__main__":
    main()
