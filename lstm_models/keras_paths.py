"""The paths that Keras runs: fit, evaluate, predict, and decoding token by token.

No callbacks, nothing printed, no shuffling; the data are NumPy arrays, which Keras turns into batches itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lstm_models.backends import backend
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
    recorded = backend().record(model, "train")
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
        # Arrays from the host are another kind of argument to JAX, which may compile for them: not in a timed round.
        fit(_packed(first), first.targets)
        return [(old - new) / np.float32(REVEALING_RATE) for old, new in zip(before, after)]

    def result() -> Array:
        reset()
        return np.float32(fit(_packed(first), first.targets).history["loss"][0])

    inputs, targets = _packed(dataset), dataset.targets
    return Step(lambda: fit(inputs, targets), recorded.traces, recorded.evidence, reset, result, gradients)


def _evaluate(case: Case, built: Built, dataset: Dataset) -> Step:
    model, reset = built.model, resetter(built.model)
    recorded = backend().record(model, "test")

    def evaluate(inputs: Any, targets: Array) -> Any:
        return model.evaluate(inputs, targets, batch_size=case.batch, verbose=0)

    def result() -> Array:
        first = dataset.first(case.batch)
        reset()
        return np.float32(np.ravel(evaluate(_packed(first), first.targets))[0])

    inputs, targets = _packed(dataset), dataset.targets
    return Step(lambda: evaluate(inputs, targets), recorded.traces, recorded.evidence, reset, result, lambda: None)


def _predict(case: Case, built: Built, dataset: Dataset) -> Step:
    model, reset = built.model, resetter(built.model)
    recorded = backend().record(model, "predict")

    def predict(inputs: Any) -> Any:
        return model.predict(inputs, batch_size=case.batch, verbose=0)

    def result() -> Array:
        reset()
        return np.asarray(predict(_packed(dataset.first(case.batch)))).astype(np.float32)

    inputs = _packed(dataset)
    return Step(lambda: predict(inputs), recorded.traces, recorded.evidence, reset, result, lambda: None)


def _decode(case: Case, built: Built, dataset: Dataset) -> Step:
    """Greedy decoding, as keras-io's lstm_seq2seq does it: one ``predict`` of the decoder per token."""
    encoder = backend().record(built.encoder, "predict")
    decoder = backend().record(built.decoder, "predict")
    source = dataset.inputs[0]

    def call() -> list[Array]:
        return decode(built, source, case.batch, case.workload.decode_tokens)

    def result() -> Array:
        return np.concatenate(call(), axis=1).astype(np.float32)

    def traces() -> int:
        return encoder.traces() + decoder.traces()

    return Step(call, traces, encoder.evidence, resetter(built.model), result, lambda: None)


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
