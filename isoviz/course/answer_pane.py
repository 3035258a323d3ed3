"""The pane in which an exercise is answered, and below it the picture of the answer that was checked last."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from isoviz.course.shown import Shown

_NOTHING = "<div></div>"


class AnswerPane:
    """A pane with its button *Check*. `make` makes it with the function that it calls; that is `check`, which also has a picture.

    It has the attributes of the pane. In a notebook the picture stands below it; a pane itself shows words alone.
    """

    def __init__(self, make: Callable[[Callable[[Any], Shown]], Any], check: Callable[[Any], Shown]) -> None:
        self._check = check
        self._display = uuid.uuid4().hex
        self._shown: str | None = None
        self.pane: Any = make(self._judged)

    def __getattr__(self, name: str) -> Any:
        if name == "pane":  # not made yet
            raise AttributeError(name)
        return getattr(self.pane, name)

    def __repr__(self) -> str:
        return repr(self.pane)

    def _ipython_display_(self) -> None:
        self.pane.show()
        self._publish(_NOTHING, update=False)

    def _judged(self, answer: Any) -> Shown:
        """What is said of an answer; the picture is replaced. It runs in the thread of the check."""
        shown = self._check(answer)
        picture = shown.picture
        drawn = _NOTHING if picture is None else picture._repr_html_()
        if self._shown not in (None, drawn):  # a page moves when an output is replaced
            self._publish(drawn, update=True)
        return shown

    def _publish(self, drawn: str, *, update: bool) -> None:
        from IPython.display import publish_display_data

        from isoviz.widgets.notebook.static_picture import is_in_kernel

        self._shown = drawn
        if is_in_kernel():
            publish: Any = publish_display_data
            publish({"text/plain": "", "text/html": drawn}, transient={"display_id": self._display}, update=update)
