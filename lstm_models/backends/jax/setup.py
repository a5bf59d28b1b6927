"""What JAX is and how it is set in this process: versions, settings, devices, and its GPU allocator's counts."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional

from lstm_models.problem import Problem

#: The variable by which JAX takes GPU memory as it is used, else three quarters at once, which no second process of a
#: pair could have. A user's own setting stays.
NO_PREALLOCATION = ("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

#: Variables under which Keras's functions would not be what is measured here, and why.
_REFUSED = {
    "JAX_DISABLE_JIT": "nothing would be compiled, and every step would be timed as a walk of Python",
    "KERAS_NNX_ENABLED": "Keras would compile with flax's nnx.jit, which this suite cannot look into",
}
_OFF = ("", "0", "false", "no", "off", "n", "f")


def refuse(environ: Mapping[str, str]) -> None:
    """Raise :class:`Problem` for a variable of :data:`_REFUSED` that is on."""
    for name, why in _REFUSED.items():
        if environ.get(name, "").lower() not in _OFF:
            raise Problem("open", f"{name}={environ[name]} is not allowed in a measurement: {why}. Unset it.")


def memory(key: str) -> Optional[int]:
    """A count of the GPU's allocator in bytes; ``None`` where it keeps none (XLA_PYTHON_CLIENT_ALLOCATOR=platform)."""
    import jax

    counts: Mapping[str, Any] = jax.local_devices()[0].memory_stats() or {}
    return int(counts[key]) if key in counts else None


def versions() -> dict[str, str]:
    """``cuda`` and ``cudnn`` as the CUDA plugin that JAX loaded was built with; it loads none without a GPU."""
    import jax
    import jaxlib

    try:
        from jax._src.lib import cuda_versions  # no public API tells them
    except ImportError:
        cuda_versions = None
    built = "not built with CUDA"
    return {
        "jax": str(jax.__version__),
        "jaxlib": str(jaxlib.__version__),
        "cuda": built if cuda_versions is None else _dotted(cuda_versions.cuda_runtime_build_version(), 1000, 10),
        "cudnn": built if cuda_versions is None else _cudnn(cuda_versions.cudnn_build_version()),
    }


def _dotted(number: int, major: int, minor: int) -> str:
    """12090 is CUDA 12.9."""
    return f"{number // major}.{number % major // minor}"


def _cudnn(number: int) -> str:
    """8907 is cuDNN 8.9.7, and 91002 is 9.10.2: the ninth has two digits more."""
    major = 10000 if number >= 90000 else 1000
    return f"{_dotted(number, major, 100)}.{number % 100}"


def settings(has_gpu: bool) -> dict[str, str]:
    import jax

    return {
        "matmul_precision": str(jax.config.jax_default_matmul_precision or "default"),
        "x64": _on(jax.config.jax_enable_x64),
        "asynchronous_cpu": _read("jax_cpu_enable_async_dispatch"),
        "compilation_cache": "on" if jax.config.jax_compilation_cache_dir else "off",
        "gpu_preallocation": os.environ[NO_PREALLOCATION[0]] if has_gpu else "no GPU",
    }


def devices() -> list[str]:
    """E.g. ``CPU:0`` and ``GPU:0 NVIDIA A100 compute 8.0``; on a GPU host the CPU as well."""
    import jax

    found = [*jax.local_devices(backend="cpu")]
    if jax.default_backend() != "cpu":
        found += jax.local_devices()
    return [_device(device) for device in found]


def _device(device: Any) -> str:
    name = f"{str(device.platform).upper()}:{device.local_hardware_id or 0}"
    capability = getattr(device, "compute_capability", None)
    kind = "" if device.device_kind == device.platform else str(device.device_kind)
    return " ".join(word for word in (name, kind, f"compute {capability}" if capability else "") if word)


def _read(name: str) -> str:
    """A setting that has no attribute, or that this JAX does not have."""
    import jax

    value = jax.config.values.get(name)
    return "not known to this JAX" if value is None else _on(value)


def _on(value: Any) -> str:
    return "on" if value else "off"
