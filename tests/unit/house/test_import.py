"""`import isoviz` is cheap, its names are lazy, and what it names exists."""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys

import pytest

import isoviz
from isoviz.figures import PICTURES

HEAVY = ("networkx", "pulp", "highspy", "bokeh", "ipywidgets", "anywidget", "cupy", "mpi4py", "numba")


def run_fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def loaded_after(code: str) -> set[str]:
    return set(json.loads(run_fresh(f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))")))


def test_import_loads_nothing_heavy() -> None:
    assert loaded_after("import isoviz").isdisjoint(HEAVY)


@pytest.mark.parametrize(
    "code",
    ["isoviz.IndexSpace, isoviz.FieldSpace, isoviz.Layout, isoviz.Box", "isoviz.Machine, isoviz.Transfer, isoviz.Options"],
)
def test_values_load_nothing_heavy(code: str) -> None:
    assert loaded_after(f"import isoviz; {code}").isdisjoint(HEAVY)


def test_heavy_modules_would_be_noticed() -> None:
    assert "networkx" in loaded_after("import isoviz, networkx")


@pytest.mark.full
def test_import_time(report) -> None:
    code = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    times: dict[str, list[float]] = {"numpy": [], "isoviz": []}
    for _ in range(11):
        for name, seconds in times.items():
            seconds.append(float(run_fresh(code.format(name))))
    ratio = statistics.median(times["isoviz"]) / statistics.median(times["numpy"])
    report("import isoviz / import numpy (median of 11)", f"{ratio:.2f}")


@pytest.mark.parametrize("name", isoviz.__all__)
def test_public_names_exist(name: str) -> None:
    if name == "explore":
        pytest.importorskip("anywidget")
    assert getattr(isoviz, name) is not None
    assert name in dir(isoviz)


def test_all_and_homes_agree() -> None:
    assert set(isoviz.__all__) == {*isoviz._HOMES, "__version__"}
    assert list(isoviz.__all__) == sorted(isoviz.__all__)


def test_unknown_names_say_what_there_is() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'Lay'; it has .*Layout"):
        _ = isoviz.Lay  # type: ignore[attr-defined]


@pytest.mark.parametrize("pictured", PICTURES)
def test_pictured_classes_live_where_ipython_looks(pictured: str) -> None:
    module, _, name = pictured.rpartition(".")
    assert getattr(importlib.import_module(module), name).__module__ == module


def test_pictures_inside_ipython() -> None:
    pytest.importorskip("IPython")
    code = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.run_cell("import isoviz, sys\\nheavy = {'bokeh', 'isoviz.layouts', 'isoviz.figures.page'} & set(sys.modules)")
shell.run_cell("layout = isoviz.Layout('<x_in=4, F, x_out>')")
data, _ = shell.display_formatter.format(shell.user_ns["layout"])
assert not shell.user_ns["heavy"]
assert "text/html" in data and "text/plain" in data, sorted(data)
print(data["text/html"])
"""
    assert "x_in" in run_fresh(code)


def test_version_is_the_installed_one() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        installed = version("isoviz")
    except PackageNotFoundError:
        pytest.skip("isoviz runs from its folder here, not installed")
    assert installed == isoviz.__version__


@pytest.mark.parametrize(
    "code",
    [
        "isoviz.explore()",
        "from isoviz.figures import throughput_figure; throughput_figure(isoviz.machines.preset('two-node').channels)",
        "from isoviz.cli import main; raise SystemExit(main(['lab', '--no-browser']))",
    ],
)
def test_what_is_not_installed_is_named_with_its_extra(code: str) -> None:
    blocked = "import sys; sys.modules.update(dict.fromkeys(('anywidget', 'bokeh', 'ipywidgets', 'jupyterlab', 'traitlets')))"
    done = subprocess.run(
        [sys.executable, "-c", f"{blocked}; import isoviz; {code}"], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "not installed here; install it with: pip install --editable '.[lab]'" in done.stderr.splitlines()[-1]
