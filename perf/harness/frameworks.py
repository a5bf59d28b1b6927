"""The frameworks that Keras runs on, as far as an environment is made of them: which is asked for, what holds it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import Version

from perf.harness.errors import Refusal


@dataclass(frozen=True, slots=True)
class Framework:
    """``name`` as ``KERAS_BACKEND`` spells it, which is its module too; ``title`` as people write it.

    ``distributions`` hold the module, each by itself; the first is the usual one. ``beside``: what a worker imports
    besides it and NumPy. ``oldest``: what workers need, where there is such a limit.
    """

    name: str
    title: str
    distributions: tuple[str, ...]
    beside: tuple[str, ...] = ("keras",)
    oldest: Version | None = None


TENSORFLOW = Framework(
    "tensorflow",
    "TensorFlow",
    (
        "tensorflow",
        "tensorflow-cpu",
        "tensorflow-gpu",
        "tensorflow-rocm",
        "tensorflow-macos",
        "tensorflow-intel",
        "tensorflow-cpu-aws",
        "tf-nightly",
        "tf-nightly-cpu",
        "tf-nightly-gpu",
        "intel-tensorflow",
    ),
    beside=(),  # it brings a Keras of its own, or is asked to take tf-keras
    oldest=Version("2.15"),
)
JAX = Framework("jax", "JAX", ("jax",))
TORCH = Framework("torch", "PyTorch", ("torch",))
FRAMEWORKS = {framework.name: framework for framework in (TENSORFLOW, JAX, TORCH)}


def chosen(variables: Mapping[str, str | None], inherited: Mapping[str, str] | None = None) -> str:
    """The name of what Keras takes in a worker with these variables besides the caller's; ``None`` unsets one.

    As Keras 3 chooses (keras/src/backend/config.py): ``KERAS_BACKEND``, else its configuration file, else TensorFlow;
    Keras 2 has TensorFlow only. It may be a name that is not in :data:`FRAMEWORKS`.
    """
    environ = {**(os.environ if inherited is None else inherited), **variables}
    if environ.get("TF_USE_LEGACY_KERAS") in ("true", "True", "1"):
        return TENSORFLOW.name
    if name := environ.get("KERAS_BACKEND"):
        return name
    home = environ.get("KERAS_HOME") or Path(environ.get("HOME") or Path.home()) / ".keras"
    try:
        return str(json.loads((Path(home) / "keras.json").read_text()).get("backend", TENSORFLOW.name))
    except (OSError, ValueError, AttributeError):
        return TENSORFLOW.name


def framework_of(variables: Mapping[str, str | None]) -> Framework:
    """That of :func:`chosen`; raises :class:`Refusal` for one that no worker knows."""
    name = chosen(variables)
    if name not in FRAMEWORKS:
        raise Refusal(
            f"Keras would run on {name!r}, as KERAS_BACKEND or its configuration file says, and is measured on "
            f"{', '.join(FRAMEWORKS)} only. Set KERAS_BACKEND to one of them. Nothing was measured."
        )
    return FRAMEWORKS[name]


def by_canonical_name(packages: Mapping[str, str]) -> dict[str, str]:
    """The same with names as pip compares them: ``tf-keras`` for ``tf_keras``."""
    return {str(canonicalize_name(name)): version for name, version in packages.items()}


def distribution_of(framework: Framework, packages: Mapping[str, str]) -> tuple[str, str] | None:
    """The distribution that holds it and its version, ``None`` where none of ``packages`` (versions by name) does."""
    versions = by_canonical_name(packages)
    return next(((name, versions[name]) for name in framework.distributions if name in versions), None)
