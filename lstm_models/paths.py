"""Paths: what one step does with a model. Forward and backward are the framework's own (:mod:`lstm_models.backends`),
the others are what Keras runs (:mod:`lstm_models.keras_paths`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Optional

from lstm_models import cudnn_layer, keras_layers, keras_paths
from lstm_models.backends import backend
from lstm_models.case import Case
from lstm_models.data import Array, Dataset
from lstm_models.models import Built, build
from lstm_models.step import Step, synchronise
from lstm_models.words import Kernel, Path

__all__ = ["Step", "batches_per_call", "open_path", "synchronise"]


def batches_per_call(case: Case) -> int:
    """Batches of data that one call of the case reads."""
    if case.workload.kind == "encoder-decoder" and case.path is Path.PREDICT:
        return 1  # decoding: its steps are tokens
    return case.steps_per_call


def open_path(case: Case, built: Built, dataset: Dataset) -> Step:
    """The case's step on ``built``, whose inputs come from ``dataset`` (:func:`batches_per_call` batches).

    Nothing is traced yet: that is the first call's.
    """
    step = _open(case, built, dataset)
    if case.path in (Path.BACKWARD, Path.FIT) and keras_layers.drops(built.model):
        return _checked_by_twin(case, step, dataset)
    return _with_one_bias(built, step) if case.kernel is Kernel.CUDNN_LAYER else step


def _open(case: Case, built: Built, dataset: Dataset) -> Step:
    if case.path is Path.FORWARD:
        return backend().forward(built, dataset, case.inputs)
    if case.path is Path.BACKWARD:
        return backend().backward(built, dataset)
    return keras_paths.open_path(case, built, dataset)


def _with_one_bias(built: Built, step: Step) -> Step:
    """The same step, whose gradients are those of the canonical weights."""

    def gradients() -> Optional[list[Array]]:
        found = step.gradients()
        return None if found is None else cudnn_layer.canonical(built.model, built.variables, found)

    return replace(step, gradients=gradients)


def _checked_by_twin(case: Case, step: Step, dataset: Dataset) -> Step:
    """The same step, whose numbers come from a model that differs in its dropout rates only: the masks are random.

    The twin is built when it is asked for, so that the first call and the memory peak are the case's own.
    """
    made: list[Step] = []

    def twin() -> Step:
        if not made:
            built = build(case.workload, case.kernel, case.precision, case.batch)
            keras_layers.stop_dropping(built.model)
            made.append(_open(case, built, dataset.first(case.batch)))
        return made[0]

    def result() -> Array:
        return twin().result()

    def gradients() -> Optional[list[Array]]:
        found = twin().gradients()
        made.clear()  # gradients are asked for last; let the memory go
        return found

    return replace(step, result=result, gradients=gradients)
