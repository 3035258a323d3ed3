#!/usr/bin/env python3
"""Measure what saturated switches of a Data Vortex deliver, and write the table of isoviz/machines/networks/vortex_shares.py.

It takes about two hours, and less with fewer heights, in an environment with isoviz and Numba:
`.venv/bin/python .ci/vortex_shares.py [most heights]`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from isoviz.machines.networks.vortex_shares import input_angles
from isoviz.vortex import Switch

TABLE = Path(__file__).parents[1] / "isoviz" / "machines" / "networks" / "vortex_shares.py"
MOST_ANGLES = 8
PACKETS, WORK = 3_000_000, 400_000_000
"""Packets of a measurement, and moves of nodes at most."""


def share(heights: int, angles: int, inputs: int) -> int:
    """Packets per port and cycle, in thousandths."""
    switch = Switch(heights, angles, input_angles(angles, inputs))
    cycles = min(PACKETS * 2 // switch.inputs_count, max(3000, WORK // switch.nodes), 100_000)
    return round(1000 * switch.saturate(cycles, seed=1, warm=40 * switch.cylinders + 200).throughput)


def main() -> None:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else 4096
    lines, heights = [], 2
    while heights <= most:
        rows = [" ".join(str(share(heights, a, n)) for n in range(1, a + 1)) for a in range(1, MOST_ANGLES + 1)]
        lines += [f'    {heights}: "{" | ".join(rows[:5])} | "', f'    "{" | ".join(rows[5:])}",']
        print(*lines[-2:], sep="\n", flush=True)
        heights *= 2
    text = TABLE.read_text(encoding="utf-8")
    start, end = text.index("MEASURED = {\n") + len("MEASURED = {\n"), text.index("}\n# end of the table")
    TABLE.write_text(text[:start] + "".join(f"{line}\n" for line in lines) + text[end:], encoding="utf-8")


if __name__ == "__main__":
    main()
