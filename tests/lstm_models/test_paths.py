"""Paths on real TensorFlow: what a call runs, what it traces, what it leaves behind."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

from lstm_models import data, models, paths
from lstm_models.case import Case
from lstm_models.words import Inputs, Path, Precision
from lstm_models.workloads import Workload
from tests.lstm_models import tiny


def opened(case: Case) -> tuple[models.Built, paths.Step]:
    built = models.build(case.workload, case.kernel, case.precision, case.batch)
    return built, paths.open_path(case, built, data.dataset(case.workload, case.batch, paths.batches_per_call(case)))


@pytest.mark.parametrize(
    ("workload", "path"),
    [*((tiny.TOKENS, path) for path in Path), (tiny.CHATBOT, Path.PREDICT), (tiny.ALL["stateful"], Path.FIT)],
)
def test_nothing_is_traced_after_the_first_call_and_weights_stay(workload: Workload, path: Path) -> None:
    """Neither further calls nor the checks may trace: a trace in a timed round fails the case."""
    built, step = opened(tiny.case(workload, path))
    before = [variable.numpy() for variable in built.variables]
    assert step.traces() == 0
    step.call()
    traces = step.traces()
    assert traces >= 1
    step.result()
    step.gradients()
    step.reset()
    step.call()
    assert step.traces() == traces
    for variable, array in zip(built.variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), array)


def test_arrays_of_the_host_are_converted_at_every_call() -> None:
    """What the case asks about: nothing may keep a tensor of the arrays from call to call."""
    case = replace(tiny.case(tiny.FEATURES), inputs=Inputs.HOST)
    built = models.build(case.workload, case.kernel, case.precision, case.batch)
    dataset = data.dataset(case.workload, case.batch, 1)
    step = paths.open_path(case, built, dataset)
    _, on_device = opened(replace(case, inputs=Inputs.DEVICE))
    np.testing.assert_array_equal(step.result(), on_device.result())
    dataset.inputs[0][...] = 0.0
    zeros = built.model(np.zeros_like(dataset.inputs[0]), training=False)
    np.testing.assert_allclose(step.result(), zeros, atol=1e-6)
    assert step.traces() == 1


def test_a_trace_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a bare function, and of the ones that Keras keeps to itself."""
    built, step = opened(tiny.case(tiny.FEATURES, Path.FORWARD))
    step.call()
    step.evidence(tf.zeros((3, 4, 5)))
    assert step.traces() == 2
    built, step = opened(tiny.case(tiny.FEATURES, Path.FIT))
    step.call()
    before = step.traces()
    built.model.fit(np.zeros((2, 6, 5), np.float32), np.zeros((2, 3), np.float32), verbose=0)
    assert step.traces() > before


@pytest.mark.parametrize(
    ("path", "batch", "batches"),
    [
        (Path.FORWARD, 2, 1),
        (Path.BACKWARD, 2, 1),
        (Path.FIT, 2, 32),
        (Path.EVALUATE, 2, 32),
        (Path.PREDICT, 2, 32),
        (Path.PREDICT, 1, 1),
    ],
)
def test_a_call_runs_the_cases_number_of_batches(path: Path, batch: int, batches: int) -> None:
    seen: list[Any] = []
    case = tiny.case(tiny.FEATURES, path, batch=batch)
    built, step = opened(case)
    step.call()
    layer = built.model.layers[-1]
    inner = layer.call
    # Runs eagerly, so that Python sees every batch.
    built.model.run_eagerly = True
    for which in ("train", "test", "predict"):
        setattr(built.model, f"{which}_function", None)
    layer.call = lambda inputs, **options: (seen.append(tuple(inputs.shape)), inner(inputs, **options))[1]
    if path in (Path.FORWARD, Path.BACKWARD):
        tf.config.run_functions_eagerly(True)
    try:
        step.call()
    finally:
        tf.config.run_functions_eagerly(False)
    assert seen == [(batch, 4, 5)] * batches
    assert batches == case.steps_per_call


def test_decoding_takes_one_step_per_token() -> None:
    case = tiny.case(tiny.CHATBOT, Path.PREDICT)
    built, step = opened(case)
    calls: list[str] = []
    for name in ("encoder", "decoder"):
        model = getattr(built, name)
        inner = model.predict
        model.predict = lambda *args, inner=inner, name=name, **options: (calls.append(name), inner(*args, **options))[
            1
        ]
    step.call()
    assert calls == ["encoder"] + ["decoder"] * 5
    assert case.steps_per_call == 5
    assert step.result().shape == (2, 5, 11)


@pytest.mark.parametrize("name", ["tokens", "bidirectional", "dropout", "recurrent-dropout", "stateful", "chatbot"])
def test_fit_shows_the_gradients_that_the_tape_gives(name: str) -> None:
    """With dropout too: both come from a twin that drops nothing, so they agree and repeat."""
    _, backward = opened(tiny.case(tiny.ALL[name], Path.BACKWARD))
    _, fit = opened(tiny.case(tiny.ALL[name], Path.FIT))
    backward.call()
    fit.call()
    np.testing.assert_allclose(fit.result(), backward.result(), rtol=1e-5)
    found, expected = fit.gradients(), backward.gradients()
    assert found is not None
    assert expected is not None
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=2e-6 * np.abs(other).max())
        assert np.abs(other).max() > 0


def test_training_drops_and_inference_does_not() -> None:
    _, backward = opened(tiny.case(tiny.ALL["dropout"], Path.BACKWARD))
    losses = {float(backward.evidence(*_arguments(tiny.ALL["dropout"]))[0]) for _ in range(4)}
    assert len(losses) > 1
    _, forward = opened(tiny.case(tiny.ALL["dropout"], Path.FORWARD))
    np.testing.assert_array_equal(forward.result(), forward.result())


def _arguments(workload: Workload) -> list[Any]:
    found = data.dataset(workload, 2, 1)
    return [tf.constant(array) for array in (found.targets, *found.inputs)]


def test_all_paths_start_from_the_same_numbers() -> None:
    results = {path: opened(tiny.case(tiny.TOKENS, path))[1].result() for path in Path}
    np.testing.assert_allclose(results[Path.PREDICT], results[Path.FORWARD], atol=1e-6)
    np.testing.assert_allclose(results[Path.EVALUATE], results[Path.FIT], rtol=1e-6)
    np.testing.assert_allclose(results[Path.BACKWARD], results[Path.FIT], rtol=1e-6)


def test_states_go_from_call_to_call_until_reset() -> None:
    _, step = opened(tiny.case(tiny.ALL["stateful"], Path.FORWARD))
    first, second = np.asarray(step.call()), np.asarray(step.call())
    assert np.abs(first - second).max() > 1e-3
    step.reset()
    np.testing.assert_array_equal(np.asarray(step.call()), first)


@pytest.mark.parametrize("path", [Path.BACKWARD, Path.FIT])
def test_float16_gradients_are_given_without_their_scale(path: Path) -> None:
    _, plain = opened(tiny.case(tiny.FEATURES, path))
    _, half = opened(tiny.case(tiny.FEATURES, path, precision=Precision.MIXED_FLOAT16))
    plain.call()
    half.call()
    for one, other in zip(half.gradients() or [], plain.gradients() or [], strict=True):
        np.testing.assert_allclose(one, other, atol=0.02 * np.abs(other).max())
