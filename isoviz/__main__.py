"""`python -P -m isoviz`: the command line."""

from __future__ import annotations

import sys

from isoviz.cli.command_line import main

if __name__ == "__main__":
    sys.exit(main())
