"""JupyterLab in a headless Chromium, by the harness of the browser tests; and times and frames, as the browser sees them.

It needs the extras `lab` and `test`.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoviz.bench.table import Row
from isoviz.errors import InputError, MissingPartError
from isoviz.units import format_seconds

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "browser")]
try:
    import chromium
    import harness
    import servers
except ImportError as error:
    raise MissingPartError("the benchmark of the explorer", "test") from error

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

SECONDS = 3.0
"""How long the pointer moves while frames are counted."""
_WATCH = """() => {
  // Milliseconds from the next event of that kind to the frame after `shown` holds.
  window.isovizWatch = (kind, shown) => new Promise(resolve => {
    const begin = event => {
      window.removeEventListener(kind, begin, true);
      const channel = new MessageChannel();
      const look = () => requestAnimationFrame(() => channel.port2.postMessage(0));
      // A task after a frame: what that frame drew is on screen.
      channel.port1.onmessage = () => shown() ? resolve(performance.now() - event.timeStamp) : look();
      look();
    };
    window.addEventListener(kind, begin, true);
  });
  window.isovizFrames = seconds => new Promise(resolve => {
    const gaps = []; let last = performance.now(); const end = last + 1000 * seconds;
    const look = now => { gaps.push(now - last); last = now; now < end ? requestAnimationFrame(look) : resolve(gaps.slice(1)); };
    requestAnimationFrame(look);
  });
}"""


@contextlib.contextmanager
def running_chromium() -> Iterator[Browser]:
    """A headless Chromium, found as the browser tests find it.

    Raises:
        InputError: there is none.
    """
    with contextlib.ExitStack() as stack:
        try:
            browser: Browser = stack.enter_context(harness.running_chromium())
        except chromium.NoChromiumError as error:
            raise InputError(str(error)) from None
        yield browser


@contextlib.contextmanager
def running_lab(home: Path, left_out: str | None = None) -> Iterator[harness.Lab]:
    """`isoviz lab` with folders of its own, in which isoviz was never used before; an extension of JupyterLab may be left out."""
    served = home / "served"
    served.mkdir(parents=True)
    if left_out is not None:
        settings = home / servers.FOLDERS["JUPYTER_CONFIG_DIR"] / "labconfig" / "page_config.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps({"disabledExtensions": {left_out: True}}), encoding="utf-8")
    command = [sys.executable, "-P", "-m", "isoviz", "lab", "--no-browser", "--port", "0", "--dir", str(served)]
    with servers.serving(command, cwd=served, env=servers.variables(home), patience=harness.START) as (url, output):
        yield harness.Lab(url, served / "isoviz-lab" / "explorer.ipynb", home, output)


@contextlib.contextmanager
def open_notebook(browser: Browser, lab: harness.Lab, name: str, code: str | None = None) -> Iterator[harness.Notebook]:
    """A notebook of its own, with what its first cell shows."""
    notebook = harness.Notebook(browser, lab, lab.new_notebook(name))
    try:
        notebook.open()
        notebook.page.evaluate(_WATCH)
        if code is not None:
            notebook.show(code)
            notebook.to_top()
        yield notebook
    finally:
        notebook.close()


def spread_row(what: str, seconds: Sequence[float], aim: str) -> Row:
    """A row of many times: the median and the 95th percentile; `aim` is what they should be, in words."""
    times = sorted(seconds)
    p95 = times[min(len(times) - 1, int(0.95 * len(times)))]
    median = times[len(times) // 2]
    return {
        "what": what, "median": format_seconds(median), "p95": format_seconds(p95), "aim": aim,
        "median_seconds": median, "p95_seconds": p95,
    }  # fmt: skip


def timed(notebook: harness.Notebook, kind: str, shown: str, gesture: Callable[[], object]) -> float:
    """Seconds from the event of a gesture to the painted answer; `shown` is JavaScript that says whether it is there."""
    notebook.page.evaluate(f"() => {{ window.isovizTime = window.isovizWatch('{kind}', {shown}) }}")
    gesture()
    return float(notebook.page.evaluate("() => window.isovizTime")) / 1000


def frames(notebook: harness.Notebook, at: Callable[[int], tuple[float, float]]) -> list[float]:
    """Seconds between the frames while the pointer moves for some seconds; `at` is its place, step by step."""
    notebook.page.evaluate(f"() => {{ window.isovizGaps = window.isovizFrames({SECONDS}) }}")
    end, step = time.perf_counter() + SECONDS, 0
    while time.perf_counter() < end:
        step += 1
        notebook.page.mouse.move(*at(step))
    return [float(gap) / 1000 for gap in notebook.page.evaluate("() => window.isovizGaps")]


def box_of(element: Locator) -> dict[str, Any]:
    """The place of an element on the page, in CSS pixels."""
    box = element.bounding_box()
    assert box is not None
    return dict(box)
