"""What this process runs with, as text: the part of a result that says under which software it was measured."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from typing import Any, Mapping, Sequence
from urllib.parse import urlsplit

from lstm_models.keras_layers import keras

_PREFIXES = ("TF_", "KERAS_", "XLA_", "OMP_", "LSTM_PERF_")
#: Terraform shares the prefix; its variables are paths and secrets that do nothing to TensorFlow.
_TERRAFORM = ("TF_CLI_", "TF_VAR_", "TF_TOKEN_", "TF_DATA_DIR", "TF_WORKSPACE", "TF_PLUGIN_")
#: Where built environments are kept changes nothing of what is measured.
_NOT_OF_THE_WORK = ("LSTM_PERF_CACHE",)


def describe() -> dict[str, Any]:
    """``versions``, ``packages``, ``settings`` and ``variables`` map text to text; ``devices`` is a list of texts."""
    return {
        "versions": _versions(),
        "packages": packages(sys.path),
        "settings": _settings(),
        "variables": variables(os.environ),
        "devices": _devices(),
    }


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that steer TensorFlow, Keras, XLA, OpenMP or this suite, by name."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if name.startswith(_PREFIXES) and not name.startswith(_TERRAFORM) and name not in _NOT_OF_THE_WORK
    }


def _versions() -> dict[str, str]:
    import numpy
    import tensorflow as tf

    build = tf.sysconfig.get_build_info()
    return {
        "python": platform.python_version(),
        "tensorflow": str(tf.__version__),
        "keras": str(keras().__version__),
        "numpy": str(numpy.__version__),
        "cuda": str(build.get("cuda_version", "not built with CUDA")),
        "cudnn": str(build.get("cudnn_version", "not built with CUDA")),
    }


def packages(path: Sequence[str]) -> dict[str, str]:
    """Every distribution on an import path; one whose metadata are damaged has no name and is left out."""
    found = {}
    for distribution in importlib.metadata.distributions(path=list(path)):
        name = distribution.metadata["Name"]
        if name and name not in found:  # the first on the path is the one that is imported
            found[str(name)] = _version(distribution)
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def _version(distribution: importlib.metadata.Distribution) -> str:
    """A distribution's version; one that came from no index says so, since its version alone does not bring it back.

    ``3.12.0 @ git+https://…@commit`` or ``3.12.0 (from a local path)``, after PEP 610. This suite's own checkout is
    not told: where it lies makes no other environment.
    """
    version = str(distribution.version)
    if distribution.metadata["Name"] == "lstm-perf":
        return version
    try:
        origin = json.loads(distribution.read_text("direct_url.json") or "{}")
        url = urlsplit(str(origin.get("url", "")))
        vcs = origin.get("vcs_info")
        commit = (vcs["vcs"], vcs["commit_id"]) if vcs else None
    except (ValueError, AttributeError, KeyError, TypeError):
        return version  # a damaged note of where it came from
    if not url.scheme:
        return version
    if url.scheme == "file" and not commit:
        return version + " (from a local path)"
    place = url._replace(netloc=url.netloc.rpartition("@")[2]).geturl()  # a name and password stay here
    return f"{version} @ {commit[0]}+{place}@{commit[1]}" if commit else f"{version} @ {place}"


def _settings() -> dict[str, str]:
    import tensorflow as tf

    threading = tf.config.threading
    return {
        "onednn": os.environ.get("TF_ENABLE_ONEDNN_OPTS", "default"),
        "intra_op_threads": _threads(threading.get_intra_op_parallelism_threads()),
        "inter_op_threads": _threads(threading.get_inter_op_parallelism_threads()),
        "cpus_allowed": str(_cpus()),
        "tf32": _on(tf.config.experimental.tensor_float_32_execution_enabled()),
        "determinism": _determinism(),
        "gpu_memory_growth": "on" if tf.config.list_physical_devices("GPU") else "no GPU",
        "keras_backend": str(keras().backend.backend()),
    }


def _determinism() -> str:
    from tensorflow.python.framework import config  # the public API can set it but not tell it

    return _on(config.is_op_determinism_enabled())


def _threads(number: int) -> str:
    return str(number) if number else "0 (TensorFlow decides)"


def _on(value: bool) -> str:
    return "on" if value else "off"


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _devices() -> list[str]:
    import tensorflow as tf

    found = []
    for device in tf.config.list_physical_devices():
        details = tf.config.experimental.get_device_details(device) if device.device_type == "GPU" else {}
        capability = ".".join(str(part) for part in details.get("compute_capability", ()))
        name = device.name.replace("/physical_device:", "")
        words = [name, str(details.get("device_name", "")), f"compute {capability}" if capability else ""]
        found.append(" ".join(word for word in words if word))
    return found
