"""How long a fresh Python takes to import isoviz, beside NumPy."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

from isoviz.bench.table import Table, interleaved, two_digits
from isoviz.units import format_seconds

_STATEMENTS = {
    "import numpy": "import numpy",
    "import isoviz": "import isoviz",
    "import isoviz; isoviz.Layout": "import isoviz; isoviz.Layout",
    "import isoviz; isoviz.plan": "import isoviz; isoviz.plan",
}


def measure(repeat: int = 11) -> Table:
    """The median of `repeat` fresh interpreters each, as a ratio to `import numpy`."""
    found = interleaved({name: partial(_seconds, code) for name, code in _STATEMENTS.items()}, repeat)
    numpy = found["import numpy"]
    return Table(
        "import",
        f"starting: median of {repeat} fresh interpreters",
        {
            "statement": ("statement", str),
            "seconds": ("time", format_seconds),
            "to_numpy": ("÷ import numpy", two_digits),
        },
        [{"statement": name, "seconds": seconds, "to_numpy": seconds / numpy} for name, seconds in found.items()],
    )


def _seconds(code: str) -> float:
    script = f"import time; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
    done = subprocess.run([sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True)
    return float(done.stdout)
