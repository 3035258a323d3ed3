"""Compiled kernels on disk: kept, shared, and compiled again where a file is damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoviz.backends.cuda.kernels import KernelSource, compile, compiled_kernel, kernels_of, nvrtc  # noqa: A004
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
        with pytest.raises(MissingPartError, match=r"NVRTC.* is not installed here; .*isoviz\[gpu\]"):
            compile(kernel, "sm_90")
    finally:
        nvrtc._library.cache_clear()
