"""Ranks that another program starts, such as a batch job: they find the client by a file, and end when it lets them go."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

from isoviz.errors import InputError, in_words, show
from isoviz.launch.client import Client, Watching
from isoviz.launch.reception import Listener
from isoviz.launch.worker.rank_worker import read_own

_LOG = logging.getLogger(__name__)


class AwaitedGroup:
    """Ranks that are awaited. `file` tells them the address of this process and the secret. It is removed once they are ready.

    Raises:
        InputError: the file cannot be written.
    """

    def __init__(self, count: int, file: str, address: str | None, watching: Watching) -> None:
        self.output: tuple[str, ...] = ()
        self._file = Path(file).absolute()
        listener = Listener.in_own_folder() if address is None else Listener.on_network(address)
        self.client = Client(
            count,
            listener=listener,
            watching=watching,
            end=lambda _: self._forget(),
            output=list,
            after="the job's ranks were let go; isoviz.ranks(attach=…) waits for those of another job",
        )
        try:
            self._write({"address": self.client.address, "secret": self.client.secret.hex(), "ranks": count})
        except OSError as error:
            self.client.drop()
            raise InputError(f"ranks: attach={show(file)}: {error.strerror}; expected a file that can be written") from None
        except BaseException:
            self.client.drop()
            raise

    def started(self) -> None:
        """The ranks are ready, so that nobody needs the file any more."""
        self._forget()

    def _write(self, found: dict[str, object]) -> None:
        """Write the file at once as a whole, readable by this user alone."""
        new = self._file.with_name(f".{self._file.name}.{os.getpid()}")
        new.unlink(missing_ok=True)
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(found, file)
        new.replace(self._file)

    def _forget(self) -> None:
        try:
            if json.loads(read_own(str(self._file)))["secret"] == self.client.secret.hex():
                self._file.unlink()
        except (OSError, ValueError, KeyError, TypeError) as error:  # It is gone, or another group's.
            _LOG.debug("%s stays as it is: %s", self._file, in_words(error))
