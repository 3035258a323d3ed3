"""The pictures of the README and the guide, from the real thing: JupyterLab in a headless Chromium.

    PYTHONPATH=tests python tests/browser/readme_pictures.py                 all of them, into notebooks/pictures
    PYTHONPATH=tests python tests/browser/readme_pictures.py explorer runs   these

It needs the extras `lab` and `test`, and a Chromium (`ISOVIZ_CHROMIUM` names one). Look at the pictures before they are
committed.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import harness
import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Locator, expect

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "notebooks" / "pictures"
MOST_BYTES = 100_000
"""A picture is at most this large: the README is read on slow lines as well."""
KEPT = 160
"""The most frequent colours of a picture, which are kept exactly."""

EXPLORER = """
import isoviz
explorer = isoviz.explore(restore=False, example="two-node")
"""
PAPER = """
import isoviz
explorer = isoviz.explore(restore=False, example="isometry")
"""
LOCAL = """
import isoviz
explorer = isoviz.explore(restore=False)
"""
TILES = """
import isoviz
explorer = isoviz.explore(
    restore=False, space={"x": 16, "y": 12}, fields={"value": "float32"},
    source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<F, x_in=4, y_in=4, x_out, y_out>"),
)
"""
PAIR = """
import isoviz
explorer = isoviz.explore(restore=False, example="torus-pair")
"""
USED = """
import isoviz
explorer = isoviz.explore(
    restore=False, machine_options={"measure": "assumed"}, space={"x": 4096, "y": 2048}, fields={"re": "f4", "im": "f4"},
    source=("node0.dsk", "<F, x, y>"), destination=("node0.sys", "<F, x, y>"),
)
"""
# What glides to its place has come to rest.
AT_REST = """async () => {
  const moves = each => each.playState === 'running' && each.effect?.getTiming().iterations !== Infinity;
  for (let frame = 0, same = 0; frame < 600 && same < 30; frame += 1) {
    await new Promise(requestAnimationFrame);
    same = document.getAnimations().some(moves) ? 0 : same + 1;
  }
}"""
LAYOUT = """\
editor = isoviz.LayoutEditor("<x_in=4, F, y, x_out>", space={"x": 10, "y": 5}, fields={"re": "float32", "im": "float64"})
view = isoviz.LinearizationView(editor)
display(editor, view)"""


def main(names: list[str]) -> int:
    """Make the pictures of these names, or all; gives the exit status."""
    known: dict[str, Callable[[Browser], bytes]] = {
        "explorer": lambda chromium: explorer(chromium, EXPLORER, dark=False),
        "explorer-dark": lambda chromium: explorer(chromium, TILES, dark=True),
        "hop": large,
        "layout": lambda chromium: alone(chromium, LAYOUT),
        "canvas": lambda chromium: tab(chromium, EXPLORER, "machine", viewport={"width": 1280, "height": 1120}),
        "what-if": lambda chromium: tab(chromium, EXPLORER, "why"),
        "moments": lambda chromium: tab(chromium, LOCAL, "timeline", moment),
        "networks": lambda chromium: tab(chromium, PAIR, "machine", viewport={"width": 1280, "height": 1120}),
        "find-layout": lambda chromium: tab(chromium, USED, "find-layout", asked),
        "runs": lambda chromium: tab(chromium, LOCAL, "run", run_three_times),
    }
    if strangers := set(names) - set(known):
        print(f"no such pictures: {', '.join(sorted(strangers))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    too_large = []
    with harness.running_chromium() as chromium:
        for name in names or known:
            path = PICTURES / f"{name}.png"
            path.write_bytes(known[name](chromium))
            repacked(path)
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")
            if path.stat().st_size > MOST_BYTES:
                too_large.append(name)
    if too_large:
        print(f"larger than {MOST_BYTES:,} bytes: {', '.join(too_large)}", file=sys.stderr)
    return 1 if too_large else 0


@contextlib.contextmanager
def notebook(chromium: Browser, home: Path, **context: Any) -> Iterator[harness.Notebook]:
    """A notebook in a JupyterLab of its own."""
    with harness.running_lab(home) as lab:
        opened = harness.Notebook(chromium, lab, **context)
        opened.open()
        yield opened
        opened.close()


def explorer(chromium: Browser, code: str, dark: bool) -> bytes:
    """JupyterLab with the explorer at the top of its notebook, an entry hovered at the source."""
    with tempfile.TemporaryDirectory() as home:
        if dark:
            folder = Path(home, "config/lab/user-settings/@jupyterlab/apputils-extension")
            folder.mkdir(parents=True)
            (folder / "themes.jupyterlab-settings").write_text('{"theme": "JupyterLab Dark"}', encoding="utf-8")
        with notebook(chromium, Path(home)) as shown:
            shown.show(code)
            shown.to_top()
            hovered(shown.end("source"))
            has_facts(shown.end("destination"))
            return shown.page.screenshot()


def tab(
    chromium: Browser, code: str, name: str, prepare: Callable[[harness.Notebook], None] | None = None, **context: Any
) -> bytes:
    """JupyterLab with a tab of the dock, which has the screen below the journey."""
    with tempfile.TemporaryDirectory() as home, notebook(chromium, Path(home), **context) as shown:
        shown.show(code)
        shown.part(f"tab-{name}").click()
        shown.part("dock-size").click()
        if prepare is not None:
            prepare(shown)
        shown.part(f"tab-{name}").click()
        shown.to_top()
        shown.settled()
        shown.page.mouse.move(1, 1)
        shown.page.evaluate(AT_REST)
        return shown.page.screenshot()


def large(chromium: Browser) -> bytes:
    """One hop on the whole screen, half of its requests moved."""
    with tempfile.TemporaryDirectory() as home, notebook(chromium, Path(home)) as shown:
        shown.show(PAPER)
        shown.part("hop-1").click()
        shown.page.keyboard.press("f")
        scrub = shown.page.get_by_test_id("stage-scrub")
        box = scrub.bounding_box()
        assert box is not None
        scrub.click(position={"x": 0.55 * box["width"], "y": box["height"] / 2})
        shown.page.evaluate(AT_REST)
        return shown.page.screenshot()


def moment(shown: harness.Notebook) -> None:
    """The middle of the simulated transfer."""
    scrub = shown.part("timeline-scrub")
    scrub.focus()
    box = scrub.bounding_box()
    assert box is not None
    scrub.click(position={"x": box["width"] / 2, "y": box["height"] / 2})


def asked(shown: harness.Notebook) -> None:
    """An array that arrives once and is read in another order 50 times."""
    expect(shown.part("find-layout")).to_have_attribute("data-done", "true", timeout=harness.PATIENCE)
    shown.part("find-use-1-what").fill("<F, y, x>")
    shown.part("find-use-1-weight").fill("50")
    expect(shown.part("find-verdict")).to_contain_text("y, x", timeout=harness.PATIENCE)
    expect(shown.part("find-layout")).to_have_attribute("data-done", "true", timeout=harness.PATIENCE)


def run_three_times(shown: harness.Notebook) -> None:
    """Three runs, so that there is a history."""
    for _ in range(3):
        shown.run()


def alone(chromium: Browser, code: str) -> bytes:
    """A code cell and the two views that it shows, an entry hovered in the last view."""
    tall = {"width": 1280, "height": 1300}
    with tempfile.TemporaryDirectory() as home, notebook(chromium, Path(home), viewport=tall) as shown:
        shown.python("import isoviz")
        shown.show(code)
        shown.page.wait_for_function("() => document.querySelectorAll('[data-testid=explorer][data-busy=false]').length === 2")
        cell = shown.page.locator(".jp-CodeCell").first
        cell.evaluate("element => element.scrollIntoView({block: 'start'})")
        view = cell.locator("[data-testid=explorer]").last
        hovered(view)
        has_facts(view)
        return cell.screenshot()


def hovered(view: Locator) -> None:
    """Point at an entry of the picture of a view."""
    grid = view.locator("[data-testid=linearization-memory] canvas, [data-testid=linearization-grid] canvas").last
    grid.wait_for()
    box = grid.bounding_box()
    assert box is not None
    grid.page.wait_for_function("element => element.width > 0", arg=grid.element_handle())
    grid.hover(position={"x": 0.44 * box["width"], "y": 0.35 * box["height"]}, force=True)


def has_facts(view: Locator) -> None:
    """Wait until a view tells of an entry, and until two frames have been drawn: what was known before them is on screen."""
    fact = view.locator("[data-fact=byte]").first
    view.page.wait_for_function("element => element.textContent !== ''", arg=fact.element_handle())
    view.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def repacked(path: Path) -> None:
    """The same picture in less room: of at most 256 colours, where nobody sees the difference."""
    picture = Image.open(path).convert("RGB")
    pixels = np.asarray(picture).reshape(-1, 3)
    colours, place, counts = np.unique(pixels, axis=0, return_inverse=True, return_counts=True)
    palette = colours.astype(np.int64)
    if len(colours) > 256:  # flat colours stay as they are; shades of edges and gradients share what is left
        common = np.argsort(-counts)[:KEPT]
        rest = Image.fromarray(np.delete(colours, common, axis=0).reshape(1, -1, 3))
        shades = rest.quantize(256 - KEPT).convert("RGB").getcolors() or []
        palette = np.array([*colours[common].tolist(), *(colour for _, colour in shades)], dtype=np.int64)
    nearest = np.array([np.abs(palette - colour).sum(axis=1).argmin() for colour in colours.astype(np.int64)], dtype=np.uint8)
    few = Image.fromarray(nearest[place.ravel()].reshape(picture.height, picture.width))
    few.putpalette(palette.ravel().tolist())
    few.save(path, optimize=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
