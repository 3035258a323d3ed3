"""The frame of every page: one HTML file that holds the script of the explorer, what it shows, and the same without scripts.

Nothing is loaded from elsewhere, and a policy in the page forbids it. What is large is compressed (gzip, in base64) and unpacked
by the browser. Where no scripts run, and on paper, the static part stands in the place of the drawn one.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from isoviz.figures.charts.html_parts import styles
from isoviz.figures.charts.svg import escape
from isoviz.figures.page import policy
from isoviz.widgets.script import LOADER, SCRIPTS, STYLE, packed

_STYLE = (
    "html{color-scheme:light dark}body{margin:0;background:var(--iv-paper)}"
    "html.isoviz-live #isoviz-static{display:none}"
    "#isoviz-static{max-width:1080px!important;margin:0 auto;padding:28px 24px 60px!important;font-size:16px!important}"
    "#isoviz-static h1{font-size:1.7em;line-height:1.25;margin:0 0 .3em}#isoviz-static h2{font-size:1.3em;margin:1.6em 0 .4em}"
    "#isoviz-static .facts dd{font-size:20px}#isoviz-static .facts dt{font-size:13px}#isoviz-static table{font-size:14.5px}"
    "#isoviz-static footer{color:var(--iv-muted);font-size:13px;margin-top:2.5em}"
    "@media print{#isoviz-page{display:none!important}html.isoviz-live #isoviz-static{display:block}"
    "#isoviz-static section{break-inside:avoid}}"
)
# The loader of the script looks for this entry of the page, and has drawn what it says.
_ENTRY = """(async () => {
  const root = document.documentElement;
  root.classList.add("isoviz-live");
  const bytes = async (name) => {
    const packed = atob(document.getElementById("isoviz-" + name).textContent);
    const stream = new Blob([Uint8Array.from(packed, (each) => each.charCodeAt(0))]).stream();
    return new Response(stream.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  };
  const text = async (name) => new TextDecoder().decode(await bytes(name));
  try {
    const content = JSON.parse(await text("content"));
    const failed = () => root.classList.remove("isoviz-live");
    globalThis[Symbol.for("isoviz.page.1")] = { content, bytes, failed, element: document.getElementById("isoviz-page") };
    const script = document.createElement("script");
    script.type = "module";
    script.textContent = await text("loader");
    document.head.append(script);
  } catch (error) {
    root.classList.remove("isoviz-live");
    console.error(error);
  }
})();"""


class Embedded(NamedTuple):
    """An answer that the page gives without a kernel: the message, and the binary data that go with it."""

    message: Mapping[str, Any]
    buffers: Sequence[bytes | memoryview] = ()


def html_page(
    title: str,
    content: Mapping[str, Any],
    static: Sequence[str],
    answers: Sequence[tuple[Mapping[str, Any], Embedded]] = (),
) -> str:
    """A complete page.

    `content` is what the script draws, plain JSON. `static` are sections of HTML made by this package, for viewers without
    scripts and for paper. `answers` maps commands (as the browser sends them, without `client` and `number`) to their answers.
    """
    parts = [_zipped("content", json.dumps(content, allow_nan=False).encode())]
    told, count = {}, 0
    for command, answer in answers:
        names = []
        for buffer in answer.buffers:
            names.append(f"data-{count}")
            parts.append(_zipped(names[-1], bytes(buffer)))
            count += 1
        told[command_key(command)] = {"message": dict(answer.message), "buffers": names}
    parts.append(_zipped("answers", json.dumps(told, allow_nan=False).encode()))
    parts += [_zipped("loader", LOADER.encode()), *(_embedded(name, packed(name)) for name in SCRIPTS)]
    root = styles("#isoviz-static").replace("#isoviz-static{--iv", ":root{--iv")
    style = STYLE.replace("</", "<\\/")
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"{policy(' blob:')}"  # the parts of the script import each other by addresses that the page makes itself
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,"><style>{root}{_STYLE}</style><style>{style}</style></head>'
        '<body><main id="isoviz-page"></main>'
        f'<main id="isoviz-static" class="isoviz-static" data-isoviz="page">{"".join(static)}</main>'
        f"{''.join(parts)}<script>{_ENTRY}</script></body></html>"
    )


def command_key(command: Mapping[str, Any]) -> str:
    """What a command is looked up by: its members in the order of their names (widgets/src/offline does the same)."""
    return json.dumps(sorted(command.items()), separators=(",", ":"), ensure_ascii=False)


def _zipped(name: str, content: bytes) -> str:
    return _embedded(name, gzip.compress(content, 9, mtime=0))


def _embedded(name: str, content: bytes) -> str:
    """An element with compressed data; base64 has no character that HTML reads."""
    return f'<script type="application/octet-stream" id="isoviz-{name}">{base64.b64encode(content).decode()}</script>'
