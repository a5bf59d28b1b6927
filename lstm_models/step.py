"""What a path gives to the engine, and the one place that waits for the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Optional

from lstm_models.backends import backend
from lstm_models.data import Array


@dataclass(frozen=True)
class Step:
    """A case's callable and what can be learned from it.

    ``call`` runs ``case.steps_per_call`` steps and does not wait for the device. ``traces()``: how often what this path
    runs has been traced or compiled so far. ``evidence`` is what the framework's own proof reads
    (:meth:`lstm_models.backends.interface.Backend.prove`). ``reset`` puts states of stateful layers back to zero; a
    round starts with it, untimed.

    ``result`` runs one batch of ``data`` from zero states and returns what the path yields, float32: forward and
    predict the outputs ``(batch, ...)``, the others the loss ``()``, and decoding the distribution of every token
    ``(batch, tokens, vocabulary)``, whose argmax are the tokens that were fed back. ``gradients`` are those of the
    loss of that batch in canonical order; ``None`` where the path computes none. Both may be called after the first
    call only, trace nothing new, and leave the weights as they were. With dropout, both come from a twin of rate 0
    where the path trains.
    """

    call: Callable[[], Any]
    traces: Callable[[], int]
    evidence: Any
    reset: Callable[[], None]
    result: Callable[[], Array]
    gradients: Callable[[], Optional[list[Array]]]


def synchronise(value: Any = None) -> None:
    """Wait until every device has done what it was given, ``value`` being what the last call returned. Nothing else in
    the suite waits."""
    backend().synchronise(value)


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
