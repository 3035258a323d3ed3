"""The frame of a page that holds tables and plots: one HTML file, styled. It loads nothing, and a policy in it forbids that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoviz._version import __version__
from isoviz.figures.charts.html_parts import styles
from isoviz.figures.charts.svg import escape
from isoviz.figures.document_html import document_html
from isoviz.figures.plots.bokeh_plot import library_html

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoviz.document import Document

_EVAL = " 'unsafe-eval'"
"""Bokeh compiles the functions that write the labels of axes."""
_STYLE = (
    "html{color-scheme:light dark}body{margin:0;background:var(--iv-paper)}"
    "#isoviz{max-width:1080px!important;margin:0 auto;padding:28px 24px 60px!important;font-size:16px!important}"
    "#isoviz h1{font-size:1.7em;line-height:1.25;margin:0 0 .3em}#isoviz h2{font-size:1.3em;margin:1.7em 0 .4em}"
    "#isoviz h3{margin-top:1.3em}#isoviz .facts dd{font-size:20px}#isoviz .facts dt{font-size:13px}#isoviz table{font-size:14px}"
    "#isoviz td .badge{font-size:12.5px;white-space:nowrap}#isoviz .why{color:var(--iv-muted);font-size:13px;min-width:26ch}"
    "#isoviz footer{color:var(--iv-muted);font-size:13px;margin-top:2.5em}"
    "@media print{#isoviz section{break-inside:avoid}}"
)


def policy(more: str = "") -> str:
    """An element that forbids a page to load anything from elsewhere. `more` are further sources of scripts."""
    content = (
        f"default-src 'none'; script-src 'unsafe-inline'{more}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{content}">'


def page(title: str, sections: Iterable[str], *, kind: str = "page", style: str = "") -> str:
    """A complete HTML page of sections, in the colour scheme of the system. Where they have plots, it holds BokehJS once.

    `kind` becomes `data-isoviz`; `style` are further rules, which begin with `#isoviz`.
    """
    content = "".join(sections)
    root = styles("#isoviz").replace("#isoviz{--iv", ":root{--iv")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"{policy(_EVAL)}"
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{root}{_STYLE}{style}</style></head>"
        f'<body><main id="isoviz" class="isoviz" data-isoviz="{escape(kind)}">{content}'
        f"<footer>isoviz {escape(__version__)}</footer></main>{library_html(content)}</body></html>"
    )


def document_page(document: Document, *, kind: str = "page") -> str:
    """A complete page of a document; `kind` becomes `data-isoviz`."""
    return page(document.title, [document_html(document)], kind=kind)
