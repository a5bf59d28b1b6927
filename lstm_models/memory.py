"""Peak memory of this process on the host, over a stretch that starts when the caller says so; ``None`` where it is no
Linux. That of a GPU's allocator is the framework's to tell (:mod:`lstm_models.backends`)."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import pathlib
from typing import Optional

_SELF = pathlib.Path("/proc/self")


def trim() -> None:
    """Give back what is free already, so that it is not mistaken for what comes next."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # where it is not glibc
        ctypes.CDLL(None).malloc_trim(0)


def reset_peak() -> bool:
    """Start the high-water mark anew at what is resident now; false where the system cannot.

    ``ru_maxrss`` cannot be reset: it would show the largest case so far and not this one.
    """
    try:
        (_SELF / "clear_refs").write_text("5")
    except OSError:
        return False
    return True


def resident() -> Optional[int]:
    """Bytes resident now."""
    return _status("VmRSS")


def peak() -> Optional[int]:
    """Most bytes resident since :func:`reset_peak`."""
    return _status("VmHWM")


def _status(key: str) -> Optional[int]:
    try:
        lines = (_SELF / "status").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith(key + ":")]
    return int(found[0]) * 1024 if found else None
