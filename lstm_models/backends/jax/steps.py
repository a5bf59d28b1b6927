"""Forward and backward as jitted functions of the weights, the other variables and the data.

As Keras's own JAX trainer does it (keras/src/backend/jax/trainer.py): what the model reads goes in as arguments, so
that XLA can fold nothing into constants, and what it changes (states of stateful layers, seeds) comes out. Nothing is
donated: the weights serve every call.
"""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from lstm_models.backends.jax.watching import Watched
from lstm_models.data import Array, Dataset
from lstm_models.models import Built
from lstm_models.step import Step, resetter
from lstm_models.words import Inputs


class _Variables:
    """A model's arrays between calls: the weights, and the others as the last call left them."""

    def __init__(self, model: Any) -> None:
        self._model, self._reset = model, resetter(model)
        self.weights = [variable.value for variable in model.trainable_variables]
        self.others = [variable.value for variable in model.non_trainable_variables]

    def reset(self) -> None:
        """Zero the states. Seeds go on from where they are, else every round would draw the same masks."""
        for variable, array in zip(self._model.non_trainable_variables, self.others):
            variable.assign(array)
        self._reset()
        self.others = [variable.value for variable in self._model.non_trainable_variables]


def forward_step(built: Built, dataset: Dataset, inputs: Inputs) -> Step:
    """The model's output, at inference. A jitted function takes NumPy arrays to the device at every call."""
    import jax

    model, variables = built.model, _Variables(built.model)

    def forward(weights: Any, others: Any, *inputs: Any) -> Any:
        return model.stateless_call(weights, others, _packed(inputs), training=False)

    function = Watched(jax.jit(forward))
    arrays = list(dataset.inputs) if inputs is Inputs.HOST else [jax.device_put(array) for array in dataset.inputs]

    def call() -> Any:
        outputs, variables.others = function(variables.weights, variables.others, *arrays)
        return outputs

    def result() -> Array:
        variables.reset()
        return host(call())

    return Step(call, function.traces, function, variables.reset, result, lambda: None)


def backward_step(built: Built, dataset: Dataset) -> Step:
    """The loss and the gradient of every trainable weight, in training mode."""
    import jax

    model, variables = built.model, _Variables(built.model)

    def scaled_loss(weights: Any, others: Any, targets: Any, *inputs: Any) -> Any:
        outputs, others = model.stateless_call(weights, others, _packed(inputs), training=True)
        loss = built.loss(targets, outputs)
        # Not through the optimizer's scaling, as on TensorFlow; a product by 1 is not made.
        return loss if built.loss_scale == 1 else loss * built.loss_scale, (loss, others)

    function = Watched(jax.jit(jax.grad(scaled_loss, has_aux=True)))
    arrays = [jax.device_put(array) for array in (dataset.targets, *dataset.inputs)]
    places = [id(variable) for variable in model.trainable_variables]
    order = [places.index(id(variable)) for variable in built.variables]

    def call() -> Any:
        gradients, (loss, variables.others) = function(variables.weights, variables.others, *arrays)
        return loss, gradients

    def result() -> Array:
        variables.reset()
        return host(call()[0])

    def gradients() -> list[Array]:
        variables.reset()
        found = call()[1]
        return [host(found[place]) / np.float32(built.loss_scale) for place in order]

    return Step(call, function.traces, function, variables.reset, result, gradients)


def _packed(inputs: Sequence[Any]) -> Any:
    """Inputs as Keras wants them: an array, or a list of them."""
    return inputs[0] if len(inputs) == 1 else list(inputs)


def host(array: Any) -> Array:
    """An array of the device as a float32 array."""
    return np.asarray(array).astype(np.float32)
