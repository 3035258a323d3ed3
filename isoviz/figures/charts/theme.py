"""Colours and fonts of every picture: colour-blind safe, constant per dimension, right on light and dark pages.

A colour is a *token* with one value per theme. Pictures name tokens, never values, and `css` turns the tokens a picture used into
rules that follow, in this order: the JupyterLab theme, the VS Code theme, the colour scheme of the system. Every element also
carries the light value as a plain attribute, so that viewers which drop style sheets still show a correct picture.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

MARGIN = 16.0
"""Pixels around the content of every static picture."""
ThemeName = Literal["auto", "light", "dark"]

SANS: Final = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
MONO: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


@dataclass(frozen=True, slots=True)
class Token:
    """One colour: its value on a light page, on a dark page, and the JupyterLab variable that overrides both (or "")."""

    light: str
    dark: str
    jupyter: str = ""


TOKENS: Final[dict[str, Token]] = {
    "paper": Token("#ffffff", "#12161c", "--jp-layout-color0"),
    "panel": Token("#f5f7fa", "#1a2029"),
    "raised": Token("#ffffff", "#232b36"),
    "ink": Token("#1f2328", "#e8edf3"),
    "muted": Token("#57606a", "#a8b3c0"),
    "line": Token("#c3cad3", "#414c5a"),
    "faint": Token("#e3e7ec", "#2b333e"),
    "path": Token("#0b62a8", "#6cb8ff"),
    "path-soft": Token("#e6f0fa", "#182c40"),
    "on-path": Token("#ffffff", "#06192b"),
    "turn": Token("#6b2fb3", "#c5a3f7"),
    "measured": Token("#00695a", "#4fd6bd"),
    "predicted": Token("#8a94a1", "#77828f"),
    "good": Token("#116b36", "#63d68f"),
    "good-soft": Token("#e3f4e9", "#15301f"),
    "bad": Token("#a5260f", "#ff9a82"),
    "bad-soft": Token("#fdebe7", "#3a1d16"),
    # Dimensions, in the order in which they are given out; F has a colour that no dimension gets.
    "dim0": Token("#0b62a8", "#6cb8ff"),
    "dim1": Token("#7a5b00", "#e5c453"),
    "dim2": Token("#00734f", "#4fd3a0"),
    "dim3": Token("#8c4a5a", "#e8a9b7"),
    "dim4": Token("#45566e", "#b0c2da"),
    "dim5": Token("#0a7285", "#66d8ea"),
    "dim6": Token("#6b5346", "#d3b7a6"),
    "field": Token("#a3287a", "#f39ad0"),
}

DIMENSION_COLOURS: Final = tuple(f"dim{number}" for number in range(7))
FIELD_COLOUR: Final = "field"

# Names that people use again and again get their colour by agreement rather than by digest.
_AGREED: Final = {
    "x": 0, "y": 1, "z": 2, "w": 3, "t": 4, "i": 0, "j": 1, "k": 2, "l": 3, "n": 4, "c": 2, "h": 1,
    "row": 1, "col": 0, "rows": 1, "cols": 0, "time": 4, "channel": 2, "batch": 4, "height": 1, "width": 0,
}  # fmt: skip

# The order of the bytes as a colour: light yellow is first, blue is last. Lightness falls along the way, so it reads without
# hue too, and stays above the point where dark text on it would fall under a contrast of 5.5.
_RAMP_ANCHORS: Final = ("#fff4c7", "#d9efc3", "#a5dfc6", "#7acbd6", "#69aee2", "#7890e0")
RAMP_INK: Final = "#141a24"


def dimension_tokens(dims: Iterable[str]) -> dict[str, str]:
    """The colour token of each dimension name: the same name has the same token in every picture.

    Where two names of one space would share a colour, the later in alphabetical order moves to the next free one.
    """
    chosen: dict[str, str] = {}
    free = set(range(len(DIMENSION_COLOURS)))
    names = sorted(set(dims))
    # Agreed names first: a digest never takes the colour of an agreed one.
    for name in sorted(names, key=lambda each: (each not in _AGREED, each)):
        wanted = _AGREED.get(name)
        if wanted is None:
            wanted = hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=2).digest()[0] % len(DIMENSION_COLOURS)
        if not free:
            free = set(range(len(DIMENSION_COLOURS)))
        while wanted not in free:
            wanted = (wanted + 1) % len(DIMENSION_COLOURS)
        free.discard(wanted)
        chosen[name] = DIMENSION_COLOURS[wanted]
    return chosen


def colour(token: str, theme: ThemeName = "light") -> str:
    """The value of `token` in a theme ("auto" counts as light); values that are not a token pass through."""
    colours = TOKENS.get(token)
    if colours is None:
        return token
    return colours.dark if theme == "dark" else colours.light


def ramp(steps: int) -> tuple[str, ...]:
    """`steps` colours from first byte to last."""
    anchors = [_rgb(anchor) for anchor in _RAMP_ANCHORS]
    colours = []
    for step in range(steps):
        place = step / max(1, steps - 1) * (len(anchors) - 1)
        lower = min(int(place), len(anchors) - 2)
        share = place - lower
        mixed = (round(a + (b - a) * share) for a, b in zip(anchors[lower], anchors[lower + 1], strict=True))
        colours.append("#{:02x}{:02x}{:02x}".format(*mixed))
    return tuple(colours)


def css(selector: str, tokens: Sequence[str]) -> str:
    """Rules that define `--iv-<token>` on `selector` for every theme a notebook or a page can have."""
    names = [name for name in tokens if name in TOKENS]
    if not names:
        return ""
    light = "".join(f"--iv-{name}:{TOKENS[name].light};" for name in names)
    dark = "".join(f"--iv-{name}:{TOKENS[name].dark};" for name in names)
    lab = "".join(f"--iv-{name}:var({TOKENS[name].jupyter},{{}});" for name in names if TOKENS[name].jupyter)
    lab_light = lab.format(*(TOKENS[name].light for name in names if TOKENS[name].jupyter))
    lab_dark = lab.format(*(TOKENS[name].dark for name in names if TOKENS[name].jupyter))
    return (
        f"{selector}{{{light}}}"
        f"@media (prefers-color-scheme:dark){{{selector}{{{dark}}}}}"
        f".vscode-light {selector},[data-jp-theme-light=true] {selector}{{{light}}}"
        f".vscode-dark {selector},[data-jp-theme-light=false] {selector}{{{dark}}}"
        + (
            f"[data-jp-theme-light=true] {selector}{{{lab_light}}}[data-jp-theme-light=false] {selector}{{{lab_dark}}}"
            if lab
            else ""
        )
    )


def contrast(first: str, second: str) -> float:
    """The WCAG contrast ratio of two `#rrggbb` colours, 1 to 21."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def _rgb(value: str) -> tuple[int, int, int]:
    return int(value[1:3], 16), int(value[3:5], 16), int(value[5:7], 16)


def _luminance(value: str) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (c / 255 for c in _rgb(value))
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
