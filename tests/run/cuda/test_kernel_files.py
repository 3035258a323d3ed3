"""Compiled kernels on disk: kept, shared, and compiled again where a file is damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import pytest
from run_cases import environment

from isoviz.backends.cuda.kernels import KernelSource, compile, compiled_kernel, kernels_of, nvrtc  # noqa: A004
from isoviz.backends.cuda.kernels.compile_kernels import PART, kept
from isoviz.errors import InputError, InternalError, MissingPartError
from isoviz.layouts import StridedCopy


@pytest.fixture
def folder(needs_nvrtc: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "isoviz" / "cuda"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The architectures for which something was really compiled."""
    found: list[str] = []
    compiled = nvrtc.compiled

    def counted(text: str, architecture: str, options: tuple[str, ...] = ()) -> tuple[bytes, str]:
        found.append(architecture)
        return compiled(text, architecture, options)

    monkeypatch.setattr(nvrtc, "compiled", counted)
    return found


@pytest.fixture
def kernel() -> KernelSource:
    (found,) = kernels_of([StridedCopy(0, 0, 8, ((10, 32, 8),))], 16, 16)
    return found


def test_compiled_once(folder: Path, calls: list[str], kernel: KernelSource) -> None:
    code = compile(kernel, "sm_90")
    assert code[:4] == b"\x7fELF"
    assert compile(kernel, "sm_90") == code and calls == ["sm_90"]
    text = compile(kernel, "compute_80")
    assert kernel.name.encode() in text and calls == ["sm_90", "compute_80"]
    assert len(list(folder.iterdir())) == 2


def test_resources_are_kept(folder: Path, calls: list[str], kernel: KernelSource) -> None:
    first, again = (compiled_kernel(kernel, "sm_90") for _ in range(2))
    assert first == again and len(calls) == 1
    assert first.resources is not None and first.resources.registers > 0 and first.resources.spills == 0
    assert compiled_kernel(kernel, "compute_90").resources is None


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other"])
@pytest.mark.few(1)
def test_damaged_files_are_compiled_again(folder: Path, calls: list[str], kernel: KernelSource, damage: str) -> None:
    code = compile(kernel, "sm_80")
    (path,) = folder.iterdir()
    content = path.read_bytes()
    flipped = content[:500] + bytes([content[500] ^ 1]) + content[501:]
    path.write_bytes({"cut": content[:-1], "flipped": flipped, "empty": b"", "other": b"not a kernel" * 20}[damage])
    assert compile(kernel, "sm_80") == code and len(calls) == 2
    assert path.read_bytes() == content
    assert compile(kernel, "sm_80") == code and len(calls) == 2


def test_nothing_half_written_is_left(folder: Path, kernel: KernelSource, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        assert compile(kernel, "sm_90")
    assert list(folder.iterdir()) == []


def test_without_a_cache(needs_nvrtc: None, kernel: KernelSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoviz.user_cache.cache_folder", lambda: None)
    assert compile(kernel, "sm_100")


def test_unknown_architecture(folder: Path, kernel: KernelSource) -> None:
    with pytest.raises(InputError, match=r"'sm_12': NVRTC 1\d\.\d+ knows .*sm_90"):
        compile(kernel, "sm_12")
    with pytest.raises(InputError, match="'hopper'"):
        compile(kernel, "hopper")


def test_wrong_text_names_the_mistake(folder: Path, kernel: KernelSource) -> None:
    with pytest.raises(InternalError, match=r"does not compile for sm_90.*error"):
        compile(kernel._replace(code=kernel.code + "nonsense;"), "sm_90")
    assert not folder.exists() or list(folder.iterdir()) == []


def test_without_nvrtc(kernel: KernelSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "_places", lambda: iter(("libnothing.so.1",)))
    nvrtc._library.cache_clear()
    try:
        assert not nvrtc.is_there()
        with pytest.raises(MissingPartError, match=r"NVRTC.* is not installed here; .*\.\[gpu\]"):
            compile(kernel, "sm_90")
    finally:
        nvrtc._library.cache_clear()


_MANY = """
import sys
from isoviz.backends.cuda.kernels import compile, kernels_of
from isoviz.layouts import StridedCopy

sys.stdin.readline()
for run in (4, 8, 16):
    (kernel,) = kernels_of([StridedCopy(0, 0, run, ((10, 64, run),))], 16, 16)
    print(hashlib.sha256(compile(kernel, "compute_90")).hexdigest())
"""


@pytest.mark.full
def test_several_processes_at_once(folder: Path, full: bool) -> None:
    """Processes that find an empty cache and compile the same kernels at the same time, as ranks do."""
    started = [
        subprocess.Popen([sys.executable, "-c", "import hashlib" + _MANY], stdin=PIPE, stdout=PIPE, text=True, env=environment())
        for _ in range(8 if full else 3)
    ]
    for each in started:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    said = {each.communicate(timeout=250)[0] for each in started}
    assert len(said) == 1 and len(said.pop().split()) == 3 and not any(each.returncode for each in started)
    assert len(list(folder.iterdir())) == 3, "only whole files are left"
    for path in folder.iterdir():
        assert kept(path) is not None


def test_the_rest_of_a_killed_process_goes(folder: Path, calls: list[str], kernel: KernelSource) -> None:
    """A file that was being written is never taken for a kernel; an old one is removed."""
    folder.mkdir(parents=True)
    old, new = folder / f"{PART}old", folder / f"{PART}new"
    for path in (old, new):
        path.write_bytes(b"isoviz kernel 1\nhalf of it")
    os.utime(old, (0, 0))
    assert compile(kernel, "sm_90") and calls == ["sm_90"]
    assert not old.exists() and new.exists(), "another process may be writing the new one"
