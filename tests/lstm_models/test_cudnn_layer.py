"""Keras 2's CuDNNLSTM, from tf-keras. It runs on GPUs only, so that two things stand for one: on the real layer, what
TensorFlow says without a GPU; and with cuDNN's routine written anew, from its documentation, that what the suite gives
the layer is what the routine reads as the canonical weights.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf
import tf_keras

from lstm_models import availability, cudnn_layer, data, keras_layers, models, oracle, paths
from lstm_models.case import Case
from lstm_models.engine import Engine
from lstm_models.problem import Problem
from lstm_models.words import Device, Kernel, Path
from lstm_models.workloads import Workload
from tests.lstm_models import tiny

WITH_LAYER = [tiny.FEATURES, tiny.TOKENS, tiny.CHATBOT, *(tiny.ALL[name] for name in ("sequences", "bidirectional"))]


@pytest.fixture
def _keras_2(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    assert keras_layers.keras() is tf_keras
    yield
    tf_keras.backend.clear_session()


@pytest.fixture
def _as_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The op of cuDNN's LSTM in plain TensorFlow, for one layer in one direction and from its flat parameters: the
    matrices of the gates i, f, c, o on the inputs and then on the state, each (units, inputs) by rows, then as many
    biases twice. Source: cudnnGetRNNWeightParams in NVIDIA's reference."""

    def op(input: Any, input_h: Any, input_c: Any, params: Any, is_training: bool, sequence_lengths: Any) -> Any:
        features, units = input.shape[-1], input_h.shape[-1]
        sizes = [4 * units * features, 4 * units * units, 4 * units, 4 * units]
        on_inputs, on_state, *biases = tf.split(params, sizes)
        on_inputs = tf.reshape(on_inputs, (4 * units, features))
        on_state = tf.reshape(on_state, (4 * units, units))
        h, c, outputs = input_h[0], input_c[0], []
        for values in tf.unstack(input):
            gates = values @ tf.transpose(on_inputs) + h @ tf.transpose(on_state) + biases[0] + biases[1]
            i, f, g, o = tf.split(gates, 4, axis=-1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
            outputs.append(h)
        return tf.stack(outputs), h[None], c[None], None, None

    from tf_keras.src.layers.rnn import cudnn_lstm

    monkeypatch.setattr(cudnn_lstm.tf.raw_ops, "CudnnRNNV3", op)


def on_gpu(workload: Workload, path: Path = Path.FORWARD) -> Case:
    return tiny.case(workload, path, Kernel.CUDNN_LAYER, device=Device.GPU)


@pytest.mark.usefixtures("_keras_2")
def test_it_is_the_layer_that_people_used() -> None:
    layer = cudnn_layer.layer(keras_layers.keras(), 3, {"return_sequences": True, "use_bias": True})
    assert (type(layer).__name__, layer.units, layer.return_sequences) == ("CuDNNLSTM", 3, True)
    built = models.build(tiny.FEATURES, Kernel.CUDNN_LAYER, on_gpu(tiny.FEATURES).precision, 2)
    assert [tuple(variable.shape) for variable in built.variables] == [(5, 12), (3, 12), (24,)]


@pytest.mark.usefixtures("_keras_2")
@pytest.mark.parametrize("path", Path)
def test_on_a_cpu_tensorflow_has_no_kernel_for_its_op(path: Path) -> None:
    """Which is why the case does not exist there."""
    case = replace(on_gpu(tiny.FEATURES, path), device=Device.CPU)
    assert availability.unavailable(case) == "cudnn-layer on cpu: cuDNN runs on NVIDIA GPUs only"
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        Engine().open(case.to_plain())
    said = str(error.value)
    assert "No OpKernel was registered to support Op 'CudnnRNNV3'" in said
    assert "device='GPU'; T in [DT_FLOAT]" in said
    assert "device='CPU'" not in said


@pytest.mark.usefixtures("_keras_2", "_as_on_a_gpu")
@pytest.mark.parametrize("path", Path)
@pytest.mark.parametrize("workload", WITH_LAYER, ids=lambda workload: workload.name)
def test_its_weights_and_gradients_are_the_canonical_ones(workload: Workload, path: Path) -> None:
    case = on_gpu(workload, path)
    assert availability.unavailable(case) is None
    built = models.build(case.workload, case.kernel, case.precision, case.batch)
    dataset = data.dataset(case.workload, case.batch, paths.batches_per_call(case))
    step = paths.open_path(case, built, dataset)
    step.call()
    traces = step.traces()
    found = oracle.check(case, dataset.first(case.batch), data.weights(case.workload), step)
    assert found.agrees, found.message
    assert (found.gradient_error is not None) == (path in (Path.BACKWARD, Path.FIT))
    assert step.traces() == traces


@pytest.mark.usefixtures("_keras_2")
@pytest.mark.parametrize(("name", "value"), [("dropout", 0.2), ("activation", "relu"), ("use_bias", False)])
def test_an_option_that_it_does_not_have_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(Problem, match=f"CuDNNLSTM has no {name} = {value!r}"):
        keras_layers.lstm_maker(Kernel.CUDNN_LAYER)(3, **{name: value})


def test_under_keras_3_a_case_says_what_to_install() -> None:
    """Side by side with an environment that has Keras 2, it cannot be compared, and nothing failed."""
    with pytest.raises(Problem) as problem:
        Engine().open(replace(on_gpu(tiny.FEATURES), device=Device.CPU).to_plain())
    assert problem.value.stage == "open"
    assert "tf-keras, the extra 'legacy'" in problem.value.message
    assert "TF_USE_LEGACY_KERAS=1" in problem.value.message


def test_what_it_converts_it_converts_back() -> None:
    matrix = np.arange(5 * 12, dtype=np.float32).reshape(5, 12)
    np.testing.assert_array_equal(cudnn_layer._by_inputs(cudnn_layer._by_outputs(matrix)), matrix)
