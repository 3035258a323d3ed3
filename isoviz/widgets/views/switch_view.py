"""The switch of a Data Vortex alone in a notebook, to watch and to try.

isoviz.SwitchView(isoviz.vortex.Switch(heights=32, angles=4, inputs=[0]))
"""

from __future__ import annotations

from isoviz.checks import expect
from isoviz.errors import InputError
from isoviz.vortex import Switch
from isoviz.widgets.explorer import Explorer
from isoviz.widgets.panes.network_pane import is_too_large
from isoviz.widgets.session import Session


class SwitchView(Explorer):
    """The switch of a Data Vortex at work: play, pause and step its packets, follow one of them, and change the offered load.

        isoviz.vortex.Switch(heights=32, angles=4, inputs=[0])         # the last value of a cell: the same view
        isoviz.SwitchView(isoviz.vortex.Switch(heights=1024))

    The browser computes all of it, also without a kernel.

    Raises:
        InputError: `switch` is not a switch, or is too large for the browser.
    """

    def __init__(self, switch: Switch) -> None:
        expect("SwitchView", switch, Switch, "a switch (isoviz.vortex.Switch)")
        if is_too_large(switch):
            nodes = f"{switch.heights:,} heights at {switch.angles} angles"
            raise InputError(f"SwitchView: {nodes} are too many for the browser; expected, at one angle, at most 8,192 heights")
        super().__init__(Session(both_ends=False, switch=switch), pane="switch")
        self._owns_session = True

    def __repr__(self) -> str:
        return f"<isoviz {self.session.state.given_switch}>"
