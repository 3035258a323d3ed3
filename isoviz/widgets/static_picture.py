"""The picture that stands beside the explorer for viewers without a kernel."""

from __future__ import annotations

from html import escape
from typing import Any

from isoviz.widgets.consequences.drawings import pictures_of
from isoviz.widgets.session import Session

_LIMIT = 400_000
"""Bytes of pictures that a saved notebook may carry; what is beyond is left out."""


class StaticPicture:
    """The state of a session as HTML and as text. The live explorer hides it by its `token`.

    It is an output of its own: a widget output that also carries a picture shows "model not found" once the kernel is gone.
    """

    def __init__(self, session: Session, token: str) -> None:
        self._session = session
        self._token = token

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        try:
            state = self._session.wait(20.0)
        except TimeoutError:
            state = self._session.state
        derived = state.derived
        heading = "isoviz explorer, with the plan it began from; run the cell to explore"
        pictures = pictures_of(derived)
        parts, size = [], 0
        for name in ("source", "destination", "path"):
            picture = pictures.get(name, "")
            size += len(picture)
            if picture and size <= _LIMIT:
                parts.append(f'<figure style="margin:0"><figcaption>{name.capitalize()}</figcaption>{picture}</figure>')
        text = str(derived.plan) if derived.plan is not None else repr(self._session)
        return {
            "text/plain": f"{heading}\n\n{text}",
            "text/html": f'<div data-isoviz-static="{self._token}" class="isoviz-static"><p>{escape(heading)}</p>'
            f'<pre style="font-family:monospace">{escape(text)}</pre>'
            f'<div style="display:flex;flex-wrap:wrap;gap:16px">{"".join(parts)}</div></div>',
        }
