"""sdist → wheel → an empty environment outside the checkout, and all that a user does first in it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

import numpy as np
import pytest
import servers

ROOT = Path(__file__).resolve().parents[2]
TRANSFER = """
[space]
x = 512
y = 256
[fields]
re = "float32"
im = "float64"
[source]
memory = "node0.dsk"
layout = "<F, x, y>"
[destination]
memory = "node0.sys"
layout = "<x, y, F>"
[machine]
preset = "local"
"""


ELSEWHERE = ("PYTHON", "VIRTUAL_ENV", "ISOVIZ")  # variables that point into the checkout or its environment
FULL = os.environ.get("ISOVIZ_FULL", "") not in ("", "0")
KERNELS = {} if FULL else {"ISOVIZ_KERNELS": "numpy"}
"""In `make test` NumPy makes the copies there: to compile the kernels of another place takes half a minute."""


def clean(**changes: str) -> dict[str, str]:
    """The environment variables without those that point into the checkout, its environment or this test run."""
    dropped = (*ELSEWHERE, "JUPYTER", "PYTEST", "MAKE")
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(dropped)},
        "PYTHONNOUSERSITE": "1",
        **KERNELS,
        **changes,
    }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The sdist of the checkout, and the wheel built from that sdist."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=clean())
    assert done.returncode == 0, done.stdout + done.stderr
    return {"sdist": next(out.glob("*.tar.gz")), "wheel": next(out.glob("*.whl"))}


@pytest.fixture(scope="module")
def installed(built: dict[str, Path], tmp_path_factory: pytest.TempPathFactory, full: bool) -> Path:
    """The folder of the programs of an empty environment with the wheel and its extra `lab`.

    In `make test` the extra's packages are those of this environment: to install them takes a minute, and the network.
    """
    folder = tmp_path_factory.mktemp("elsewhere") / "env"
    if not full:
        return borrowing(built["wheel"], folder)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, env=clean())
    needed = folder / "requirements.txt"
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(ROOT / ".ci"))
        import environment

        needed.write_text(environment.locked({"base", "lab"}), encoding="utf-8")
    options = ["--quiet", "--retries", "1", "--no-deps", "--only-binary", ":all:"]
    for command in (["install", *options, "--require-hashes", "-r", needed], ["install", *options, built["wheel"]], ["check"]):
        words = [folder / "bin" / "python", "-m", "pip", *command]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=clean(), cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "bin"


def borrowing(wheel: Path, folder: Path) -> Path:
    """The folder of the programs of an environment with the wheel alone, which finds other packages where they are here.

    Python reads no .pth files there, so that the checkout, which is installed here, stays out of reach.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, env=clean())
    python = folder / "bin" / "python"
    install = ["install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True, env=clean())
    (own,) = (folder / "lib").glob("python*/site-packages")
    (own / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python.parent


NOTEBOOKS = {path.name for path in (ROOT / "notebooks").glob("*.ipynb")}
"""The explorer and those of the course. Neither solutions nor pictures are beside them."""


def run(installed: Path, *command: str, cwd: Path, **changes: str) -> subprocess.CompletedProcess[str]:
    program = [str(installed / command[0]), *command[1:]]
    return subprocess.run(program, cwd=cwd, env=clean(**changes), capture_output=True, text=True, check=False, timeout=240)


def test_wheel_carries_what_it_needs(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built["wheel"]) as wheel:
        names = wheel.namelist()
        for notebook in NOTEBOOKS:
            assert wheel.read(f"isoviz/notebooks/{notebook}") == (ROOT / "notebooks" / notebook).read_bytes()
    assert {name for name in names if name.startswith("isoviz/notebooks/")} == {f"isoviz/notebooks/{name}" for name in NOTEBOOKS}
    texts = {path.relative_to(ROOT).as_posix() for path in (ROOT / "isoviz" / "course" / "texts").glob("*.toml")}
    assert texts and texts <= set(names)
    static = {f"isoviz/widgets/static/{path.name}" for path in (ROOT / "isoviz" / "widgets" / "static").iterdir()}
    assert {"isoviz/py.typed", *static} <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert any(name.endswith("licenses/isoviz/widgets/static/THIRD-PARTY-LICENSES.txt") for name in names)
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "isoviz").rglob("*.py")}
    assert modules <= set(names)
    strangers = [
        name for name in names if not name.startswith(("isoviz/", "isoviz-")) or "node_modules" in name or "__pycache__" in name
    ]
    assert strangers == []


def test_sdist_carries_the_sources_and_nothing_else(built: dict[str, Path]) -> None:
    with tarfile.open(built["sdist"]) as sdist:
        names = {name.split("/", 1)[1] for name in sdist.getnames()}
    solutions = [path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks" / "solutions").glob("*.py")]
    for name in ("Makefile", ".ci/dev.py", ".ci/constraints.txt", "tests/conftest.py", "widgets/package-lock.json", *solutions):
        assert name in names
    left_behind = [name for name in names if re.search(r"node_modules|\.venv|artifacts/|isoviz-lab|__pycache__", name)]
    assert left_behind == []
    assert built["sdist"].stat().st_size < 5_000_000


def test_import_comes_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    done = run(installed, "python", "-c", "import isoviz; print(isoviz.__file__, isoviz.__version__)", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert str(installed.parent) in done.stdout


@pytest.mark.full
def test_run(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "transfer.toml").write_text(TRANSFER, encoding="utf-8")
    done = run(installed, "isoviz", "run", "transfer.toml", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["verified"] is True
    assert told["bytes"] == 512 * 256 * 12
    assert all(hop["throughput"] > 0 and hop["measured_throughput"] > 0 for hop in told["hops"])


@pytest.mark.full
def test_convert(installed: Path, tmp_path: Path) -> None:
    values = np.zeros((30, 20), dtype=[("a", "i2"), ("b", "f8")])
    values["a"] = np.arange(600).reshape(30, 20)
    values["b"] = values["a"] * 0.5
    np.save(tmp_path / "in.npy", values)
    layouts = ["--from", "<F, x, y>", "--to", "<F, y, x>"]
    done = run(installed, "isoviz", "convert", "in.npy", "out.npy", *layouts, "--verify", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), values.T)  # y fastest: C order of shape (x, y)


def test_explore(installed: Path, tmp_path: Path) -> None:
    """The notebook of the wheel, executed by a kernel of the environment, shows the explorer."""
    shipped = next((installed.parent / "lib").glob("python*/site-packages/isoviz/notebooks/explorer.ipynb"))
    (tmp_path / "explorer.ipynb").write_bytes(shipped.read_bytes())
    home = {name: str(tmp_path / folder) for name, folder in servers.FOLDERS.items()}
    command = ["-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", "explorer.ipynb"]
    done = run(installed, "python", *command, cwd=tmp_path, JUPYTER_PREFER_ENV_PATH="1", **home)
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / "explorer.ipynb").read_text(encoding="utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    assert any("application/vnd.jupyter.widget-view+json" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if output["output_type"] == "error"]


@pytest.mark.full  # a JupyterLab that is not installed beside it does not serve
def test_lab(installed: Path, tmp_path: Path) -> None:
    served = tmp_path / "served"
    served.mkdir()
    command = [str(installed / "isoviz"), "lab", "--no-browser", "--port", "0", "--dir", str(served)]
    with servers.serving(command, cwd=tmp_path, env=servers.variables(tmp_path, *ELSEWHERE), patience=120) as (url, _):
        parts = urllib.parse.urlsplit(url)
        assert parts.path == "/lab/tree/isoviz-lab/explorer.ipynb"
        contents = f"http://{parts.netloc}/api/contents/isoviz-lab/explorer.ipynb?{parts.query}"
        with urllib.request.urlopen(contents, timeout=250) as response:
            assert json.load(response)["type"] == "notebook"
    assert {path.name for path in (served / "isoviz-lab").glob("*.ipynb")} == NOTEBOOKS
