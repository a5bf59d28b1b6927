"""The paths that Keras runs: fit, evaluate, predict, and decoding token by token.

No callbacks, nothing printed, no shuffling; the data are NumPy arrays, which Keras turns into batches itself.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import Any, Callable, Iterator

import numpy as np

from lstm_models.case import Case
from lstm_models.data import START, Array, Dataset
from lstm_models.models import Built
from lstm_models.step import Step, resetter
from lstm_models.words import Path

#: Learning rate of the one step that shows the gradients: a power of two, so that it only moves the exponent, and so
#: large that the weight, which is subtracted out again, does not swallow the gradient's digits.
REVEALING_RATE = 2.0**16


def open_path(case: Case, built: Built, dataset: Dataset) -> Step:
    """The step of a fit, evaluate or predict case."""
    if case.path is Path.FIT:
        return _fit(case, built, dataset)
    if case.path is Path.EVALUATE:
        return _evaluate(case, built, dataset)
    if built.encoder is not None:
        return _decode(case, built, dataset)
    return _predict(case, built, dataset)


def _fit(case: Case, built: Built, dataset: Dataset) -> Step:
    model, reset = built.model, resetter(built.model)
    functions = recorded(model, "train")
    losses: list[float] = []

    def fit(inputs: Any, targets: Array) -> Any:
        return model.fit(inputs, targets, batch_size=case.batch, epochs=1, shuffle=False, verbose=0)

    first = dataset.first(case.batch)

    def gradients() -> list[Array]:
        """One step at a known rate, then the weights put back. The rate is a variable: nothing is traced."""
        optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
        before = [variable.numpy() for variable in built.variables]
        reset()
        optimizer.learning_rate = REVEALING_RATE
        try:
            losses[:] = fit(_packed(first), first.targets).history["loss"]
        finally:
            optimizer.learning_rate = 0.0
        after = [variable.numpy() for variable in built.variables]
        for variable, array in zip(built.variables, before):
            variable.assign(array)
        return [(old - new) / np.float32(REVEALING_RATE) for old, new in zip(before, after)]

    def result() -> Array:
        reset()
        return np.float32(fit(_packed(first), first.targets).history["loss"][0])

    inputs, targets = _packed(dataset), dataset.targets
    return Step(lambda: fit(inputs, targets), functions[-1], functions, reset, result, gradients)


def _evaluate(case: Case, built: Built, dataset: Dataset) -> Step:
    model, reset = built.model, resetter(built.model)
    functions = recorded(model, "test")

    def evaluate(inputs: Any, targets: Array) -> Any:
        return model.evaluate(inputs, targets, batch_size=case.batch, verbose=0)

    def result() -> Array:
        first = dataset.first(case.batch)
        reset()
        return np.float32(np.ravel(evaluate(_packed(first), first.targets))[0])

    inputs, targets = _packed(dataset), dataset.targets
    return Step(lambda: evaluate(inputs, targets), functions[-1], functions, reset, result, lambda: None)


def _predict(case: Case, built: Built, dataset: Dataset) -> Step:
    model, reset = built.model, resetter(built.model)
    functions = recorded(model, "predict")

    def predict(inputs: Any) -> Any:
        return model.predict(inputs, batch_size=case.batch, verbose=0)

    def result() -> Array:
        reset()
        return np.asarray(predict(_packed(dataset.first(case.batch)))).astype(np.float32)

    inputs = _packed(dataset)
    return Step(lambda: predict(inputs), functions[-1], functions, reset, result, lambda: None)


def _decode(case: Case, built: Built, dataset: Dataset) -> Step:
    """Greedy decoding, as keras-io's lstm_seq2seq does it: one ``predict`` of the decoder per token."""
    encoder_functions = recorded(built.encoder, "predict")
    functions = encoder_functions + recorded(built.decoder, "predict")
    source = dataset.inputs[0]

    def call() -> list[Array]:
        return decode(built, source, case.batch, case.workload.decode_tokens)

    def result() -> Array:
        return np.concatenate(call(), axis=1).astype(np.float32)

    return Step(call, encoder_functions[-1], functions, resetter(built.model), result, lambda: None)


def decode(built: Built, source: Array, batch: int, tokens: int) -> list[Array]:
    """The distributions ``(samples, 1, vocabulary)`` of ``tokens`` tokens that answer ``source (samples, timesteps)``.

    The decoder starts from the encoder's h and c; each token is the likeliest one, and is fed back with the states.
    """
    assert built.encoder is not None
    assert built.decoder is not None
    states = built.encoder.predict(source, batch_size=batch, verbose=0)
    token = np.full((len(source), 1), START, np.int32)
    distributions = []
    for _ in range(tokens):
        distribution, *states = built.decoder.predict([token, *states], batch_size=batch, verbose=0)
        distributions.append(distribution)
        token = np.argmax(distribution, axis=-1).astype(np.int32)
    return distributions


def _packed(dataset: Dataset) -> Any:
    """Inputs as Keras wants them: an array, or a list of them."""
    return dataset.inputs[0] if len(dataset.inputs) == 1 else list(dataset.inputs)


def recorded(model: Any, which: str) -> tuple[Any, ...]:
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
