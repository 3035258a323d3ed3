"""`python -m isoviz.backends.host.kernels [--measure]`: compile the copy kernels and keep them.

What suits this processor is measured where it is not known, and anew with `--measure`."""

from __future__ import annotations

import os
import sys

from isoviz.backends.host.kernels import prepare, state, suiting
from isoviz.backends.host.kernels.tuning import SWITCH

if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--measure"]):
        sys.exit(f"python -m isoviz.backends.host.kernels: {' '.join(sys.argv[1:])}: expected nothing, or --measure")
    if sys.argv[1:]:
        os.environ[SWITCH] = "again"
    ready = prepare(wait=True)
    sys.stdout.write(f"{state()}\n{suiting() if ready else ''}\n")
    sys.exit(0 if ready else 1)
