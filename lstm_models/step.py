"""What a path gives to the engine, and the one place that waits for the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Optional

from lstm_models.data import Array


@dataclass(frozen=True)
class Step:
    """A case's callable and what can be learned from it.

    ``call`` runs ``case.steps_per_call`` steps and does not wait for the device. ``function`` is the ``tf.function``
    whose executed graph shows the kernel. ``functions`` are all that this path runs, for the count of traces.
    ``reset`` puts states of stateful layers back to zero; a round starts with it, untimed.

    ``result`` runs one batch of ``data`` from zero states and returns what the path yields, float32: forward and
    predict the outputs ``(batch, ...)``, the others the loss ``()``, and decoding the distribution of every token
    ``(batch, tokens, vocabulary)``, whose argmax are the tokens that were fed back. ``gradients`` are those of the
    loss of that batch in canonical order; ``None`` where the path computes none. Both may be called after the first
    call only, trace nothing new, and leave the weights as they were. With dropout, both come from a twin of rate 0
    where the path trains.
    """

    call: Callable[[], Any]
    function: Any
    functions: tuple[Any, ...]
    reset: Callable[[], None]
    result: Callable[[], Array]
    gradients: Callable[[], Optional[list[Array]]]

    def traces(self) -> int:
        """How often the path's functions have been traced so far."""
        return sum(function.experimental_get_tracing_count() for function in self.functions)


def synchronise() -> None:
    """Wait until every device has done what it was given. Nothing else in the suite waits."""
    import tensorflow as tf

    tf.test.experimental.sync_devices()


def resetter(*models: Any) -> Callable[[], None]:
    """A function that resets the states of all stateful layers; nothing to do for most models."""
    layers = [
        layer
        for model in models
        if model is not None
        for layer in model._flatten_layers()
        if getattr(layer, "stateful", False) and hasattr(layer, "cell")
    ]

    def reset() -> None:
        for layer in layers:
            layer.reset_states()

    return reset
