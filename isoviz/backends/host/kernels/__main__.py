"""`python -P -m isoviz.backends.host.kernels [--measure]`: compile the copy kernels and keep them.

The choices that suit this processor are measured unless they are known; `--measure` measures them again.
"""

from __future__ import annotations

import os
import sys

from isoviz.backends.host.kernels.preparation import prepare, state, suiting
from isoviz.backends.host.kernels.tuning import SWITCH

if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--measure"]):
        sys.exit(f"python -P -m isoviz.backends.host.kernels: {' '.join(sys.argv[1:])}: expected nothing, or --measure")
    if sys.argv[1:]:
        os.environ[SWITCH] = "again"  # this process does nothing else
    ready = prepare(wait=True)
    sys.stdout.write(f"{state()}\n{suiting() if ready else ''}\n")
    sys.exit(0 if ready else 1)
