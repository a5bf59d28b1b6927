"""The way to NVIDIA's management library; it is only ever asked, nothing on a GPU is changed."""

from __future__ import annotations

from typing import Any

__all__ = ["IMPORT_ERROR", "NOT_FOUND", "NOT_SUPPORTED", "answered", "code", "pynvml", "text"]

try:
    import pynvml
except ImportError as _error:  # optional: a machine without a GPU does not need it
    pynvml = None
    IMPORT_ERROR = str(_error)
else:
    IMPORT_ERROR = ""

#: NVML's codes for what a GPU, a driver, or a user without rights does not have; all others are faults.
NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, FUNCTION_NOT_FOUND = 3, 4, 6, 13
_ABSENT = frozenset({NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, FUNCTION_NOT_FOUND})


def answered(nvml: Any, name: str, *arguments: Any) -> Any:
    """What NVML's function ``name`` answers; ``None`` where there is no such value here.

    Raises NVML's own error for anything else, a lost GPU above all.
    """
    function = getattr(nvml, name, None)
    if function is None:  # an older nvidia-ml-py
        return None
    try:
        return function(*arguments)
    except nvml.NVMLError as error:
        if code(error) in _ABSENT:
            return None
        raise


def code(error: Exception) -> int | None:
    """NVML's number of an error."""
    return getattr(error, "value", None)


def text(value: str | bytes) -> str:
    """Old versions of nvidia-ml-py answer in bytes."""
    return value.decode() if isinstance(value, bytes) else value
