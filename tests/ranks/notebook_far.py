"""Stands for a notebook whose ranks run elsewhere: `notebook_far.py COUNT ADDRESS OPTIONS…`, or `… ADDRESS --attach FILE`.

It runs a plan from the first rank to the last one, and prints what it saw as JSON.
"""

from __future__ import annotations

import json
import sys

import isoviz
from isoviz import FieldSpace, IndexSpace, Instance, Layout, Transfer


def main() -> None:
    count, address, options = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    arguments = {"attach": options[1]} if options[:1] == ["--attach"] else {"options": options}
    with isoviz.ranks(count, address=address, start_timeout=100, silence=20, **arguments) as ranks:  # type: ignore[arg-type]
        space, fields = IndexSpace.of({"x": 512, "y": 256}), FieldSpace.of({"a": "f4", "b": "f8"})
        ends = [
            Instance(f"node{rank}.sys", space, fields, Layout(layout))
            for rank, layout in ((0, "<F, x, y>"), (count - 1, "<y, x, F>"))
        ]
        report = ranks.run(isoviz.plan(Transfer(*ends), ranks.machine))
        hosts = [process.host for process in ranks.processes]
        print(json.dumps({"hosts": hosts, "verified": report.verified}))


main()
