"""Right answers to the exercises of notebook 1, for teachers. The wheel and the folders of learners leave this file out."""

from isoviz import Layout
from isoviz.course.kinds import linear_of
from isoviz.course.notebook_1.numpy_arrays import NUMPY_ARRAYS


def _byte(given):
    byte = linear_of(given).offset(given["index"], given["field"])
    return [byte, f"{byte} B", float(byte)]


def _tape(given):
    layout, split, block = given["layout"], given["split"], given["block"]
    digits = layout.replace(f"{split}_in={block}", f"{split}_0={block}").replace(f"{split}_out", f"{split}_1")
    return [layout, Layout(layout), layout.strip("<>"), digits]


def _content(given):
    found = linear_of(given).locate(given["byte"])
    if found is None:
        return ["padding", " Padding ", "PADDING"]
    (x, y), field, byte = found.index, found.field, found.byte
    return [(x, y, field, byte), {"x": x, "y": y, "field": field, "byte": byte}, [str(x), str(y), field.upper(), f"{byte} B"]]


def _arrays(given):
    right = NUMPY_ARRAYS.right(given)
    (one, other), layout = right["pair"], right["layout"].layout
    return [((one, other), str(layout)), {"pair": f"{other}, {one}", "layout": layout}, ([other.lower(), one], str(layout))]


def _padding(given):
    size, ny, block = given["sizes"]["x"], given["sizes"]["y"], given["block"]
    entry = linear_of({**given, "layout": "<F, x, y>"}).fields.nbytes
    nbytes = -(-size // block) * block * ny * entry
    least = min(-size % each for each in range(3, 9))
    blocks = [each for each in range(3, 9) if -size % each == least]
    return [{"bytes": f"{nbytes} B", "block": blocks[-1]}, [str(nbytes), str(blocks[0])], *((nbytes, each) for each in blocks)]


def _both_ends(given):
    split, block = given["split"], given["block"]

    def fastest_first(axes):
        return [f"{axis}={block}" if axis == f"{split}_in" else axis for axis in reversed(axes)]

    before, after = fastest_first(given["axes"]), fastest_first(given["moved"])
    texts = [", ".join([*before, "F"]), ", ".join([*after, "F"])]
    return [
        tuple(f"<{text}>" for text in texts),
        {"before": f"<F, {', '.join(before)}>", "after": Layout(f"<F, {', '.join(after)}>")},
        [f"⟨{text}⟩" for text in texts],
    ]


def _vectors(given):
    size = given["sizes"]["x"]
    blocks = [block for block in (8, 16, 24, 32, 40) if -size % block < 0.02 * size]
    return [
        "<x_in=8, F, x_out, y>",
        Layout("<x_in=8, F, y, x_out>"),
        "<x_in=8, y_in=2, F, x_out, y_out>" if given["sizes"]["y"] % 2 == 0 else "<x_0=4, x_1=2, F, y, x_2>",
        *(f"<x_in={block}, F, x_out, y>" for block in blocks),
    ]


ANSWERS = {
    "1.1": _byte,
    "1.2": _tape,
    "1.3": _content,
    "1.4": _arrays,
    "1.5": _padding,
    "1.6": _both_ends,
    "1.P": _vectors,
}
"""Name of an exercise → a function from its numbers to right answers, at least three that differ in form."""
