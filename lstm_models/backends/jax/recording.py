"""The jitted functions behind Keras's fit, evaluate and predict."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import Any, Iterator

from lstm_models.backends.interface import Recorded
from lstm_models.backends.jax.watching import Watched
from lstm_models.problem import Problem


def record(model: Any, which: str) -> Recorded:
    """As :meth:`lstm_models.backends.interface.Backend.record`; the evidence is what Keras jitted.

    Keras hides it in a plain function over batches, so ``jit`` is watched while Keras makes it. Raises
    :class:`Problem` where Keras jits nothing: that model would be run step by step by Python.
    """
    made: list[Watched] = []
    with _watched(made):
        getattr(model, f"make_{which}_function")(force=True)
    if not made:
        raise Problem(
            "open",
            f"Keras compiles nothing for {which} of this model (jit_compile={model.jit_compile}): run_eagerly is on, "
            "or one of its layers says supports_jit=False. Such a model runs operation by operation and is not timed.",
        )
    return Recorded(lambda: sum(function.traces() for function in made), tuple(made))


@contextmanager
def _watched(made: list[Watched]) -> Iterator[None]:
    """What Keras's trainer jits inside is kept in ``made``, each as what Keras gets.

    The trainer takes ``jit`` into its module since it knows flax's as well (Keras 3.10); before, it wrote ``jax.jit``.
    """
    import jax

    trainer: Any = importlib.import_module("keras.src.backend.jax.trainer")
    owner = trainer if hasattr(trainer, "jit") else jax
    original = owner.jit

    def jit(function: Any, **options: Any) -> Watched:
        made.append(Watched(original(function, **options)))
        return made[-1]

    owner.jit = jit
    try:
        yield
    finally:
        owner.jit = original
