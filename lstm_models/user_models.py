"""A user's own models: from a function that builds one, or from a file.

A builder is a function ``build(lstm)`` that returns an uncompiled Keras model with one output::

    import keras

    def build(lstm):
        inputs = keras.Input((30, 8))
        values = keras.layers.Bidirectional(lstm(64, return_sequences=True))(inputs)
        return keras.Model(inputs, keras.layers.Dense(1)(lstm(32)(values)))

``lstm(units, **options)`` takes what ``keras.layers.LSTM`` takes and returns such a layer under the kernel that is
measured; LSTMs that the function makes by itself are set to the kernel afterwards, as far as attributes can. It must
make the same model at every call. Inputs are float ``(timesteps, features)``, or with ``vocabulary`` in the workload
tokens ``(timesteps,)``; an open length is filled with the workload's ``timesteps``. The loss follows from ``head``.
Weights are replaced by seeded ones.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable, Optional

from lstm_models import data, keras_layers, kernels
from lstm_models.problem import Problem
from lstm_models.words import Kernel
from lstm_models.workloads import Workload


def built(workload: Workload, lstm: Callable[..., Any]) -> Any:
    """The model of ``workload.builder``; raises :class:`Problem` if the function is not there or returns none."""
    module, _, name = workload.builder.partition(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise Problem(
            "open",
            f"{workload.name}: builder {workload.builder!r} was not found: {error}. The module must be importable "
            "where the worker runs: install it, or start from its folder.",
        ) from error
    model = function(lstm)
    if not hasattr(model, "trainable_variables") or not hasattr(model, "outputs") or len(model.outputs) != 1:
        raise Problem(
            "open",
            f"{workload.name}: builder {workload.builder!r} returned {type(model).__name__}; "
            "it must return a functional or sequential Keras model with one output.",
        )
    return model


def loaded(workload: Workload, kernel: Kernel) -> Any:
    """The model in the file ``workload.saved``, not compiled; raises :class:`Problem` if it cannot be loaded."""
    if kernels.settings(kernel).use_cudnn is False and not keras_layers.has_use_cudnn():
        raise Problem("open", f"{workload.name}: this Keras cannot keep a loaded LSTM off cuDNN; measure kernel auto.")
    try:
        return keras_layers.keras().models.load_model(workload.saved, compile=False)
    except (OSError, ValueError, TypeError) as error:
        raise Problem(
            "open",
            f"{workload.name}: the saved model {workload.saved} cannot be loaded by Keras "
            f"{keras_layers.keras().__version__}: {error}",
        ) from error


def dataset(workload: Workload, model: Any, batch: int, batches: int) -> data.Dataset:
    """Data for a builder's or a saved model, from the shapes of its inputs and output."""
    inputs = [_input(workload, tuple(tensor.shape)) for tensor in model.inputs]
    output = [workload.timesteps if length is None else int(length) for length in tuple(model.outputs[0].shape)[1:]]
    if not all(output):
        raise _open_length(workload)
    return data.dataset_like(workload, inputs, output, batch * batches)


def _input(workload: Workload, shape: tuple[Optional[int], ...]) -> tuple[int, Optional[int]]:
    timesteps = workload.timesteps if len(shape) > 1 and shape[1] is None else shape[1] if len(shape) > 1 else None
    if timesteps == 0:
        raise _open_length(workload)
    if len(shape) == 2 and workload.vocabulary and timesteps:
        return timesteps, None
    if len(shape) == 3 and timesteps and shape[2]:
        return timesteps, shape[2]
    raise Problem(
        "open",
        f"{workload.name}: the model has an input of shape {shape}. Inputs may be (batch, timesteps, features), or "
        "(batch, timesteps) tokens when the workload says vocabulary = N.",
    )


def _open_length(workload: Workload) -> Problem:
    return Problem("open", f"{workload.name}: the model leaves its length open; give timesteps in the workload file.")
