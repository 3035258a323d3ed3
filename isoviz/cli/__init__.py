"""The command line."""

from isoviz.cli.command_line import main

__all__ = ["main"]
