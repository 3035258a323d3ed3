"""Building blocks of the HTML representations: one self-contained element, themed like the pictures in it, all text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from isoviz.figures.charts import theme
from isoviz.figures.charts.svg import ID, escape, finish
from isoviz.figures.charts.theme import MONO, SANS

_TOKENS = ("paper", "panel", "ink", "muted", "line", "faint", "path", "path-soft", "good", "good-soft", "bad", "bad-soft")


@dataclass(frozen=True)
class Markup:
    """HTML that is safe already; every other value in a table is escaped."""

    html: str


def styles(selector: str) -> str:
    """The style sheet of a representation; `selector` is an id, which outweighs the rules notebooks have for tables."""
    s = selector
    return (
        theme.css(s, _TOKENS) + f"{s}{{font:14px/1.5 {SANS};color:var(--iv-ink);background:var(--iv-paper);"
        f"padding:10px 16px;max-width:1180px;box-sizing:border-box;overflow-x:auto}}"
        f"{s} h2,{s} h3{{font-weight:600;line-height:1.3;margin:.2em 0 .5em;color:inherit}}"
        f"{s} h3{{font-size:1.15em}}"
        f"{s} h4{{font-size:1.05em;font-weight:600;margin:1.2em 0 .4em;color:inherit}}{s} p{{margin:.3em 0 .7em}}"
        f"{s} svg{{display:block;margin:-4px 0 8px -16px}}"
        f"{s} table{{border-collapse:collapse;margin:6px 0 12px;font-size:13px;color:inherit;border:0;"
        f"table-layout:auto;width:auto}}"
        f"{s} caption{{text-align:left;color:var(--iv-muted);padding:0 0 4px;caption-side:top}}"
        f"{s} th,{s} td{{text-align:left;padding:4px 12px 4px 0;border:0;border-bottom:1px solid var(--iv-faint);"
        f"vertical-align:top;white-space:normal;max-width:none;background:none;color:inherit}}"
        f"{s} thead th{{color:var(--iv-muted);font-weight:600;border-bottom:1px solid var(--iv-line)}}"
        f"{s} .n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}"
        f"{s} code,{s} pre{{font-family:{MONO};font-size:12.5px;background:none;color:inherit;padding:0;border:0}}"
        f"{s} pre{{background:var(--iv-panel);padding:10px 12px;border-radius:6px;"
        f"overflow-x:auto;white-space:pre;margin:6px 0}}"
        f"{s} .scroll{{overflow-x:auto}}{s} tbody tr{{background:none}}"
        f"{s} .slow td{{font-weight:600;background:var(--iv-path-soft)}}"
        f"{s} .badge{{display:inline-block;padding:1px 10px;border-radius:11px;font-weight:600;font-size:13px}}"
        f"{s} .good{{color:var(--iv-good);background:var(--iv-good-soft)}}"
        f"{s} .bad{{color:var(--iv-bad);background:var(--iv-bad-soft)}}"
        f"{s} .none{{color:var(--iv-muted);background:var(--iv-panel)}}"
        f"{s} .bar{{display:inline-block;width:64px;height:8px;border-radius:4px;background:var(--iv-faint);overflow:hidden}}"
        f"{s} .bar span{{display:block;height:8px;background:var(--iv-muted)}}{s} .bar.full span{{background:var(--iv-path)}}"
        f"{s} .facts{{display:flex;flex-wrap:wrap;gap:6px 28px;margin:4px 0 10px;padding:0}}"
        f"{s} .facts div{{display:flex;flex-direction:column}}"
        # Notebooks put the terms of lists beside their definitions, in columns of a fifth of the width.
        f"{s} .facts dt,{s} .facts dd{{float:none;display:block;width:auto;padding:0;margin:0;white-space:nowrap}}"
        f"{s} .facts dt{{color:var(--iv-muted);font-size:12px;font-weight:400}}"
        f"{s} .facts dd{{margin:0;font-size:16px;font-weight:600}}"
        f"{s} ul{{margin:.3em 0 .7em;padding-left:1.3em}}{s} li{{margin:.2em 0}}"
        f"{s} summary{{cursor:pointer;color:var(--iv-muted)}}"
    )


def representation(kind: str, *parts: str) -> str:
    """One element with its own id and styles; `kind` becomes `data-isoviz`."""
    return finish(
        f'<div class="isoviz" id="{ID}" data-isoviz="{escape(kind)}"><style>{styles("#" + ID)}</style>{"".join(parts)}</div>'
    )


def heading(text: str, level: int = 3, after: str = "") -> str:
    """A heading; `after` is markup that follows its text."""
    return f"<h{level}>{escape(text)}{' ' + after if after else ''}</h{level}>"


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Key figures side by side."""
    return '<dl class="facts">' + "".join(f"<div><dt>{escape(k)}</dt><dd>{cell(v)}</dd></div>" for k, v in pairs) + "</dl>"


def cell(value: object) -> str:
    """`Markup` as it is, everything else escaped."""
    return value.html if isinstance(value, Markup) else escape(value)


def code(text: object) -> Markup:
    """Text in the fixed-width face."""
    return Markup(f"<code>{escape(text)}</code>")


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numbers: Sequence[int] = (),
    marked: Iterable[int] = (),
) -> str:
    """A table; columns in `numbers` are set right, rows in `marked` stand out."""
    right = set(numbers)
    strong = set(marked)
    head = "".join(f'<th scope="col"{_number(k in right)}>{escape(text)}</th>' for k, text in enumerate(header))
    body = "".join(
        ('<tr class="slow">' if number in strong else "<tr>")
        + "".join(f"<td{_number(k in right)}>{cell(value)}</td>" for k, value in enumerate(row))
        + "</tr>"
        for number, row in enumerate(rows)
    )
    top = f"<thead><tr>{head}</tr></thead>" if any(header) else ""
    return f'<div class="scroll"><table><caption>{escape(caption)}</caption>{top}<tbody>{body}</tbody></table></div>'


def _number(yes: bool) -> str:
    return ' class="n"' if yes else ""


def folded(summary: str, content: str, *, opened: bool = False) -> str:
    """Content that a reader opens; it works without scripts."""
    return f"<details{' open' if opened else ''}><summary>{escape(summary)}</summary>{content}</details>"


def items(texts: Iterable[str]) -> str:
    """A list of plain sentences."""
    return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>"


def pre(text: object) -> str:
    """Text with its line breaks and columns."""
    return f"<pre>{escape(text)}</pre>"
