"""The ``tf.function`` behind Keras's fit, evaluate and predict."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator

from lstm_models.backends.interface import Recorded


def record(model: Any, which: str) -> Recorded:
    """As :meth:`lstm_models.backends.interface.Backend.record`; the evidence is the outermost ``tf.function``."""
    made = functions(model, which)
    return Recorded(lambda: sum(function.experimental_get_tracing_count() for function in made), made[-1])


def functions(model: Any, which: str) -> tuple[Any, ...]:
    """Make the model's ``train``, ``test`` or ``predict`` function, and return every ``tf.function`` it is made of.

    The outermost is the last. Keras hides them (Keras 3.15 wraps the train function in a plain one), and a count in
    ``train_step`` would miss traces of the outer ones, so ``tf.function`` is watched while Keras makes them.
    """
    made: list[Any] = []
    with _watched(model, made):
        getattr(model, f"make_{which}_function")(force=True)
    if not made:
        raise AssertionError(f"Keras made no tf.function for {which}; is the model run eagerly?")
    return tuple(made)


@contextmanager
def _watched(model: Any, made: list[Any]) -> Iterator[None]:
    """``tf.function`` notes what it returns in ``made``, in every module that the model's class comes from."""
    modules = {id(module): module for module in _tensorflows(type(model))}
    originals = [(module, module.function) for module in modules.values()]

    def watch(original: Callable[..., Any]) -> Callable[..., Any]:
        def function(func: Any = None, **options: Any) -> Any:
            if func is None:
                return lambda later: function(later, **options)
            made.append(original(func, **options))
            return made[-1]

        return function

    for module, original in originals:
        module.function = watch(original)
    try:
        yield
    finally:
        for module, original in originals:
            module.function = original


def _tensorflows(kind: type) -> list[Any]:
    """What the modules that define a class and its bases call ``tf``; Keras 2 has a copy of the API of its own."""
    found = [getattr(sys.modules.get(base.__module__), "tf", None) for base in kind.__mro__]
    return [module for module in found if hasattr(module, "function")]
