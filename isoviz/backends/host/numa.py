"""Host memory on one NUMA node: the check of its number, and fresh pages from it.

The node is preferred, not required: if it is full, the system takes pages from another node instead of ending the process.
"""

from __future__ import annotations

import ctypes
import os
import platform
from functools import cache

from isoviz.backends.pages import PAGE, Bytes
from isoviz.errors import TransferError
from isoviz.this_computer import numa_nodes

_MBIND = {"x86_64": 237, "aarch64": 235, "riscv64": 235, "ppc64le": 259, "s390x": 268}
"""Numbers of the Linux system call `mbind`, which has no wrapper in the C library."""
_PREFERRED = 1
"""`MPOL_PREFERRED` of Linux's `mempolicy.h`."""
_MOST = 1024
"""The most nodes that Linux supports, and so the bits of a node mask."""


def node_of(name: str, device: int | None) -> int | None:
    """The NUMA node of a host memory, from its `device` in the machine description.

    None if there is no choice: without a device, or on a computer with one node.

    Raises:
        TransferError: this computer has no such node.
    """
    if device is None:
        return None
    known = [node.number for node in numa_nodes()] or [0]
    if device not in known:
        raise TransferError(
            f"memory {name}: is bound to NUMA node {device}, which is not on this computer; it has {', '.join(map(str, known))}"
        )
    return device if len(known) > 1 else None


def prefer(array: Bytes, node: int) -> str | None:
    """Ask the system to take the pages of an array from a NUMA node.

    The array is page-aligned and not yet touched. Returns the reason if the system refuses.
    """
    number = _MBIND.get(platform.machine()) if platform.system() == "Linux" else None
    if number is None:
        return f"no such system call is known on {platform.system()}, {platform.machine()}"
    if not array.size:
        return None
    mask = (ctypes.c_ulong * (_MOST // (8 * ctypes.sizeof(ctypes.c_ulong))))()
    word, bit = divmod(node, 8 * ctypes.sizeof(ctypes.c_ulong))
    mask[word] = 1 << bit
    nbytes = -(-array.nbytes // PAGE) * PAGE
    arguments = ctypes.c_void_p(array.ctypes.data), ctypes.c_ulong(nbytes), ctypes.c_int(_PREFERRED)
    rest = mask, ctypes.c_ulong(_MOST + 1), ctypes.c_uint(0)
    if _library().syscall(ctypes.c_long(number), *arguments, *rest) == 0:
        return None
    return os.strerror(ctypes.get_errno())


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
