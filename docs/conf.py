"""How the site is built: `make docs`. Nothing is fetched while it is built, and the pages load nothing from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from isoviz import __version__

HERE = Path(__file__).parent
ROOT = HERE.parent

project = "isoviz"
author = "isoviz contributors"
project_copyright = author
release = version = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
]
root_doc = "index"
exclude_patterns = ["_build", "README.md"]

html_theme = "furo"
html_title = "isoviz"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5fa5", "color-brand-content": "#0b5fa5"},
    "dark_css_variables": {"color-brand-primary": "#7cc0f5", "color-brand-content": "#7cc0f5"},
}

# ---- pages that are executed
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "executed")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True  # the course keeps its progress beside the notebook
# A page without a kernel shows the picture of a widget, and loads no script from elsewhere.
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]
nb_ipywidgets_js: dict[str, dict[str, str]] = {}
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
suppress_warnings = ["mystnb.mime_priority", "ref.python"]  # a class stands under its package and under its module
os.environ.setdefault("ISOVIZ_LEDGER", "off")  # runs of examples are not those of a user

# ---- the reference
autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {"members": True}
python_use_unqualified_type_names = True
napoleon_use_rtype = False
default_role = "py:obj"  # `name` in a docstring is a link where the name is documented, and code everywhere
add_module_names = False


def copy_pages() -> None:
    """Notebooks and pages from elsewhere in the repository. Sphinx reads only what lies below its own folder."""
    copied = HERE / "notebooks"
    shutil.rmtree(copied, ignore_errors=True)
    left_out = shutil.ignore_patterns(".ipynb_checkpoints", "explorer.ipynb", "solutions")  # no answer is on the site
    shutil.copytree(ROOT / "notebooks", copied, ignore=left_out)
    for notebook in copied.glob("*.ipynb"):  # the explorer needs a kernel: the site has its guide instead
        text = notebook.read_text(encoding="utf-8")
        notebook.write_text(text.replace("](explorer.ipynb)", "](../guide/explorer.md)"), encoding="utf-8")
    for name in ("CHANGELOG.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        text = re.sub(r"\]\(docs/([^)]+)\)", r"](\1)", text)
        text = text.replace("](SECURITY.md)", "](guide/security.md)")
        text = re.sub(r"\[([^]]+)\]\(((?:examples|benchmarks|widgets|tests)/[^)]+)\)", r"`\2`", text)  # not pages of the site
        (HERE / f"_{name}").write_text(text, encoding="utf-8")


def without_aliases(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Leave out the text that Python itself gives the members of a named tuple: "Alias for field number 0"."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def setup(app: Any) -> None:
    """Called by Sphinx before it reads the pages."""
    app.connect("autodoc-process-docstring", without_aliases)
    sys.path.insert(0, str(ROOT))
    copy_pages()
