"""What this process runs with, as text: the part of a result that says under which software it was measured."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
from typing import Any, Mapping, Sequence
from urllib.parse import urlsplit

from lstm_models.backends import backend
from lstm_models.keras_layers import keras

_PREFIXES = ("TF_", "KERAS_", "JAX_", "TORCH_", "TORCHINDUCTOR_", "PYTORCH_", "XLA_", "OMP_", "MKL_", "LSTM_PERF_")
#: Terraform shares the prefix; its variables are paths and secrets that do nothing to a framework.
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
        "devices": backend().devices(),
    }


def variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that steer Keras, its framework, XLA, OpenMP or this suite, by name."""
    return {
        name: value
        for name, value in sorted(environ.items())
        if name.startswith(_PREFIXES) and not name.startswith(_TERRAFORM) and name not in _NOT_OF_THE_WORK
    }


def _versions() -> dict[str, str]:
    import numpy

    framework = backend().versions()
    gpu = {name: framework.pop(name) for name in tuple(framework) if name in ("cuda", "cudnn")}
    return {
        "python": platform.python_version(),
        **framework,
        "keras": str(keras().__version__),
        "numpy": str(numpy.__version__),
        **gpu,
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
    return {**backend().settings(), "cpus_allowed": str(_cpus()), "keras_backend": backend().name}


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
