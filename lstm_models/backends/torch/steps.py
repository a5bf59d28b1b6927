"""Forward and backward as people write them for Keras on PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from lstm_models.backends.torch.compilation import compiled, traces
from lstm_models.data import Array, Dataset
from lstm_models.keras_layers import keras
from lstm_models.models import Built
from lstm_models.step import Step, resetter
from lstm_models.words import Inputs


def forward_step(built: Built, dataset: Dataset, inputs: Inputs) -> Step:
    """The model's output, at inference, without autograd, as ``predict`` has it."""
    import torch

    model, reset = built.model, resetter(built.model)

    def forward(*inputs: Any) -> Any:
        with torch.no_grad():
            return model(inputs if len(inputs) > 1 else inputs[0], training=False)

    function, compilation = compiled(forward, built.jit_compile)
    tensors = None if inputs is Inputs.HOST else [on_device(array) for array in dataset.inputs]

    def call() -> Any:
        return function(*(tensors or map(on_device, dataset.inputs)))

    def result() -> Array:
        reset()
        return host(call())

    return Step(call, traces(compilation), compilation, reset, result, lambda: None)


def backward_step(built: Built, dataset: Dataset) -> Step:
    """The loss and the gradient of every trainable weight, in training mode.

    What ``torch.compile`` is given ends with the loss, as in Keras's train step: it compiles the gradient from there.
    """
    import torch

    model, reset = built.model, resetter(built.model)
    weights = [variable.value for variable in built.variables]

    def loss_of(targets: Any, *inputs: Any) -> Any:
        outputs = model(inputs if len(inputs) > 1 else inputs[0], training=True)
        return built.loss(targets, outputs)

    function, compilation = compiled(loss_of, built.jit_compile)
    tensors = [on_device(array) for array in (dataset.targets, *dataset.inputs)]

    def call() -> Any:
        loss = function(*tensors)
        # Not through the optimizer's scaling, as for the other frameworks; a product by 1 is not made.
        scaled = loss if built.loss_scale == 1 else loss * built.loss_scale
        return loss.detach(), torch.autograd.grad(scaled, weights)

    def result() -> Array:
        reset()
        return host(call()[0])

    def gradients() -> list[Array]:
        reset()
        return [host(gradient) / np.float32(built.loss_scale) for gradient in call()[1]]

    return Step(call, traces(compilation), compilation, reset, result, gradients)


def on_device(array: Array) -> Any:
    """An array as a tensor where Keras puts its weights."""
    return keras().ops.convert_to_tensor(array)


def host(tensor: Any) -> Array:
    """A tensor as a float32 array."""
    return np.asarray(tensor.detach().float().cpu()).astype(np.float32)
