"""Tracing as on a GPU host with JAX: Keras picks cuDNN, and JAX's own operation for it stands in the jaxpr.

Two questions are answered in their place: Keras's, whether there is a GPU, and JAX's, how much memory cuDNN needs.
Nothing can be compiled or run inside.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


@contextmanager
def pretend_gpu() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        # ``import keras.src.backend.jax.rnn as x`` gives the function of that name.
        patch.setattr(importlib.import_module("keras.src.backend.jax.rnn"), "_is_gpu_available", lambda: True)
        gpu_rnn: Any = importlib.import_module("jaxlib.gpu_rnn")
        patch.setattr(gpu_rnn, "compute_rnn_workspace_reserve_space_sizes", lambda *sizes: (16, 16), raising=False)
        yield


def traced(model: Any, *, training: bool, batch: int = 2) -> Any:
    """The traced stage of the model's output, or of the gradients of its weights, on zeros."""
    import jax

    weights = [variable.value for variable in model.trainable_variables]
    others = [variable.value for variable in model.non_trainable_variables]
    inputs = [jax.numpy.zeros((batch, *tensor.shape[1:]), tensor.dtype) for tensor in model.inputs]

    def run(weights: Any, others: Any, *inputs: Any) -> Any:
        outputs, _ = model.stateless_call(weights, others, inputs if len(inputs) > 1 else inputs[0], training=training)
        return sum(output.astype("float32").sum() for output in jax.tree_util.tree_leaves(outputs))

    return jax.jit(jax.grad(run) if training else run).trace(weights, others, *inputs)
