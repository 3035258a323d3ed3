"""The peers of an engine: other engines that carry out the same transfers. The engine of one process has none.

Between ranks, every engine carries out the hops of its own rank (`isoviz.runtime.ranks.rank_peers`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isoviz.errors import InternalError

if TYPE_CHECKING:
    from isoviz.runtime.engine.asynchronous import Request
    from isoviz.runtime.engine.dispatcher import Dispatcher
    from isoviz.runtime.engine.execution import Execution
    from isoviz.scheduling.work import Finish, Instruction


class Peers:
    """What the driver of an engine asks its peers, and tells them. Here there are none."""

    @property
    def dispatchers(self) -> Sequence[Dispatcher]:
        """The threads that serve peers. They end with those of the engine."""
        return ()

    def reach(self, execution: Execution) -> Sequence[object]:  # noqa: ARG002  # for those that have peers
        """Note that a transfer begins here, and return what peers have said about it. The caller holds the driver's lock."""
        return ()

    def meet(self, execution: Execution, early: Sequence[object], own: deque[Request] | None) -> None:
        """A transfer has begun here. `early` is what `reach` has returned. Small requests that may begin are added to `own`."""

    def pass_on(self, execution: Execution, instruction: Instruction) -> None:
        """Carry out an instruction that concerns peers: only the schedulers of ranks give such instructions."""
        raise InternalError(f"transfer {execution.number}: {instruction} in an engine without ranks")

    def opened(self, execution: Execution, error: BaseException | None) -> list[Instruction] | None:  # noqa: ARG002  # as above
        """What follows if a peer has given up a transfer while its stores were opened; None if none has."""
        return None

    def cancel(self, execution: Execution) -> bool:  # noqa: ARG002  # as above
        """Cancel a transfer that is carried out past the scheduler; False if it is none."""
        return False

    def finish(self, execution: Execution, finish: Finish) -> None:
        """The scheduler finishes a transfer. Its error may come from a peer."""

    def completes(self, execution: Execution) -> bool:  # noqa: ARG002  # as above
        """Whether a peer has the last word on a transfer that has ended here. The transfer is completed then."""
        return False

    def published(self, execution: Execution) -> None:
        """A transfer has been completed."""
