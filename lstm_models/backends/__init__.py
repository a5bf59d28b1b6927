"""The framework that Keras runs on in this process."""

from __future__ import annotations

import functools
import importlib
import json
import os
import pathlib
from typing import Any, Mapping

from lstm_models.backends.interface import Backend
from lstm_models.problem import Problem
from lstm_models.words import Framework

NAMES = tuple(str(framework) for framework in Framework)


def name(environ: Mapping[str, str] = os.environ) -> str:
    """Which one Keras would take with these variables, without importing anything.

    As Keras 3 chooses (keras/src/backend/config.py): ``KERAS_BACKEND``, else its configuration file, else TensorFlow.
    Keras 2 knows TensorFlow only. The name may be one that is not in :data:`NAMES`.
    """
    if environ.get("TF_USE_LEGACY_KERAS") in ("true", "True", "1"):
        return NAMES[0]
    if environ.get("KERAS_BACKEND"):
        return environ["KERAS_BACKEND"]
    home = environ.get("KERAS_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".keras")
    try:
        return str(json.loads((pathlib.Path(home) / "keras.json").read_text()).get("backend", NAMES[0]))
    except (OSError, ValueError, AttributeError):
        return NAMES[0]


@functools.cache
def backend() -> Backend:
    """That of this process, started; raises :class:`Problem` for one that this suite does not know or that is not
    installed."""
    chosen = name()
    if chosen not in NAMES:
        raise Problem(
            "open",
            f"Keras would run on {chosen!r} here, and this suite knows {', '.join(NAMES)}. Set KERAS_BACKEND.",
        )
    made: Backend = importlib.import_module(f"lstm_models.backends.{chosen}").make()
    try:
        made.start()
    except ModuleNotFoundError as error:
        raise Problem(
            "open",
            f"Keras would run on {made.title} here, which is not installed ({error}). Install it, or set KERAS_BACKEND "
            "to one that is.",
        ) from error
    return made


def trace() -> Any:
    """The module of this process's framework that finds a kernel without a GPU: ``pretend_gpu``, ``traced_kernel`` and
    ``refusal`` as in :mod:`lstm_models.backends.tensorflow.trace`. Not there where ``why_no_selection`` says why."""
    return importlib.import_module(f"lstm_models.backends.{backend().name}.trace")
