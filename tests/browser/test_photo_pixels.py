"""A photo in the explorer, as pixels: its colours by address, its planes, and an array that no layout has."""

from __future__ import annotations

from pathlib import Path

import harness
import numpy as np
from PIL import Image
from playwright.sync_api import expect


def stops(notebook: harness.Notebook) -> list[np.ndarray]:
    """The opaque pixels of the memory of every stop, as the journey draws them."""
    notebook.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    drawn = notebook.part("journey").locator(".iv-stop canvas")
    urls = [str(drawn.nth(place).evaluate("canvas => canvas.toDataURL()")) for place in range(drawn.count())]
    return [pixels[pixels[..., 3] > 250][:, :3] for pixels in (harness.Drawing(url).pixels for url in urls)]


def show(notebook: harness.Notebook, code: str) -> None:
    notebook.show(f"import numpy as np\nimport isoviz\n{code}")
    notebook.to_top()
    notebook.settled()


def test_a_red_photo_is_red_and_its_planes_are_one_red_and_two_black_ones(desk: harness.Notebook, tmp_path: Path) -> None:
    Image.new("RGB", (300, 200), (255, 0, 0)).save(tmp_path / "red.png")
    show(desk, f"explorer = isoviz.explore({str(tmp_path / 'red.png')!r}, restore=False)")
    source, planes = stops(desk)
    assert (source == (255, 0, 0)).all(), "its bytes are narrower than pixels: they mix to its colour"
    red, black = ((planes == colour).all(axis=1) for colour in ((255, 0, 0), (0, 0, 0)))
    assert (red | black).all() and 0.3 < red.mean() < 0.36, "one plane of three"


def test_planes_of_a_photo_are_three_different_pictures(desk: harness.Notebook, tmp_path: Path) -> None:
    rows, columns = np.mgrid[0:240, 0:300]
    pixels = np.stack([rows, columns * 0.8, np.where(rows > columns, 220, 30)], axis=-1).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "colours.png")
    show(desk, f"explorer = isoviz.explore({str(tmp_path / 'colours.png')!r}, restore=False)")
    source, planes = stops(desk)
    assert len(np.unique(source, axis=0)) > 1000, "a photo of many colours"
    lit = planes > 0
    assert (lit.sum(axis=1) <= 1).all(), "every byte of a plane has one colour"
    shown = [np.unique(planes[lit[:, colour], colour]) for colour in range(3)]
    assert len(shown[0]) > 15 and len(shown[1]) > 15 and set(shown[2]) == {30, 220}, "with the values of the photo"
    desk.picture("photo")
    desk.part("way-index").click()
    desk.part("way-address").click()
    assert [len(each) for each in stops(desk)] == [len(source), len(planes)]


def test_what_no_layout_has_is_drawn_and_says_why_there_is_no_plan(desk: harness.Notebook) -> None:
    show(desk, "explorer = isoviz.explore(np.arange(600.0).reshape(20, 30)[::-1], restore=False)")
    expect(desk.part("no-plan")).to_contain_text("Axis 0 (y) counts backwards")
    expect(desk.part("no-plan")).to_contain_text("numpy.ascontiguousarray(array)")
    drawn = desk.end("source").locator("canvas").first
    pixels = harness.Drawing(str(drawn.evaluate("canvas => canvas.toDataURL()"))).pixels
    assert len(np.unique(pixels.reshape(-1, 4), axis=0)) > 20, "by value"
