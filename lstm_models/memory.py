"""Peak memory over a stretch that starts when the caller says so: of this process on the host (Linux only, else
``None``), and of TensorFlow's allocator on a GPU."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import pathlib
from typing import Optional

from lstm_models.words import Device

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


def reset_device_peak(device: Device) -> Optional[int]:
    """Start the allocator's high-water mark anew; the bytes in use now, ``None`` on the CPU, which keeps no count."""
    if device is not Device.GPU:
        return None
    import tensorflow as tf

    tf.config.experimental.reset_memory_stats("GPU:0")
    return device_in_use(device)


def device_in_use(device: Device) -> Optional[int]:
    """Bytes that tensors use on the GPU now."""
    if device is not Device.GPU:
        return None
    import tensorflow as tf

    return int(tf.config.experimental.get_memory_info("GPU:0")["current"])


def device_peak(device: Device) -> Optional[int]:
    """Most bytes that tensors used on the GPU since :func:`reset_device_peak`; cuDNN's workspaces too."""
    if device is not Device.GPU:
        return None
    import tensorflow as tf

    return int(tf.config.experimental.get_memory_info("GPU:0")["peak"])


def _status(key: str) -> Optional[int]:
    try:
        lines = (_SELF / "status").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith(key + ":")]
    return int(found[0]) * 1024 if found else None
