"""`python -m isoviz.backends.kernels`: compile the copy kernels and keep them."""

from __future__ import annotations

import sys

from isoviz.backends.kernels import prepare, state

if __name__ == "__main__":
    ready = prepare(wait=True)
    sys.stdout.write(f"{state()}\n")
    sys.exit(0 if ready else 1)
