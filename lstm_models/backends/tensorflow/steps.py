"""Forward and backward as ``tf.function``."""

from __future__ import annotations

from typing import Any

import numpy as np

from lstm_models.data import Array, Dataset
from lstm_models.models import Built
from lstm_models.step import Step, resetter
from lstm_models.words import Inputs


def forward_step(built: Built, dataset: Dataset, inputs: Inputs) -> Step:
    """The model's output, at inference, as a ``tf.function``, which makes tensors of NumPy arrays at every call."""
    import tensorflow as tf

    model, reset = built.model, resetter(built.model)

    def forward(*inputs: Any) -> Any:
        return model(inputs if len(inputs) > 1 else inputs[0], training=False)

    function = tf.function(forward, jit_compile=built.jit_compile)
    given = list(dataset.inputs) if inputs is Inputs.HOST else [tf.constant(array) for array in dataset.inputs]

    def call() -> Any:
        return function(*given)

    def result() -> Array:
        reset()
        return host(call())

    return Step(call, function.experimental_get_tracing_count, function, reset, result, lambda: None)


def backward_step(built: Built, dataset: Dataset) -> Step:
    """The loss and the gradient of every trainable weight, in training mode, as a ``tf.function``."""
    import tensorflow as tf

    model, reset = built.model, resetter(built.model)
    variables = [raw(variable) for variable in built.variables]

    def backward(targets: Any, *inputs: Any) -> Any:
        with tf.GradientTape() as tape:
            outputs = model(inputs if len(inputs) > 1 else inputs[0], training=True)
            loss = built.loss(targets, outputs)
            # Not through the optimizer's scaling, whose spelling differs between versions; a product by 1 is not made.
            scaled = loss if built.loss_scale == 1 else loss * built.loss_scale
        return loss, tape.gradient(scaled, variables)

    function = tf.function(backward, jit_compile=built.jit_compile)
    tensors = [tf.constant(array) for array in (dataset.targets, *dataset.inputs)]

    def call() -> Any:
        return function(*tensors)

    def result() -> Array:
        reset()
        return host(call()[0])

    def gradients() -> list[Array]:
        reset()
        found = call()[1]
        return [host(tf.convert_to_tensor(gradient)) / built.loss_scale for gradient in found]

    return Step(call, function.experimental_get_tracing_count, function, reset, result, gradients)


def raw(variable: Any) -> Any:
    """The ``tf.Variable`` of a Keras variable (Keras 3 wraps it, Keras 2 does not)."""
    value = getattr(variable, "value", None)
    return variable if value is None or callable(value) else value


def host(tensor: Any) -> Array:
    """A tensor as a float32 array."""
    return np.asarray(tensor).astype(np.float32)
