"""Models on real TensorFlow: settings in force, weights, and what an encoder hands to a decoder."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras

from lstm_models import data, keras_layers, keras_paths, models, user_models
from lstm_models.problem import Problem
from lstm_models.words import Kernel, Precision
from lstm_models.workloads import Workload
from tests.lstm_models import tiny

FLOAT32 = Precision.FLOAT32


def a_model(lstm: Any) -> Any:
    """A user's builder: an LSTM in a Bidirectional, of open length."""
    inputs = keras.Input((None, 3))
    values = keras.layers.Bidirectional(lstm(2, return_sequences=True, use_cudnn="auto"))(inputs)
    values = keras.layers.LSTM(2)(keras.layers.Dropout(0.5)(values))
    return keras.Model(inputs, keras.layers.Dense(1)(values))


def no_model(lstm: Any) -> Any:
    return lstm(3)


BUILDER = Workload("mine", "", kind="builder", timesteps=4, head="linear", builder=f"{__name__}:a_model")


@pytest.mark.parametrize(
    ("kernel", "jit_compile", "use_cudnn", "unroll"),
    [
        (Kernel.LOOP, "False", "False", "False"),
        (Kernel.UNROLLED, "False", "False", "True"),
        (Kernel.XLA, "True", "False", "False"),
        (Kernel.AUTO, "False", "auto", "False"),
    ],
)
def test_the_kernels_settings_are_in_force(kernel: Kernel, jit_compile: str, use_cudnn: str, unroll: str) -> None:
    """Bidirectional makes its layers anew and must not lose them; neither may layers that a user made alone."""
    for workload in (tiny.ALL["bidirectional"], tiny.CHATBOT, BUILDER):
        found = models.build(workload, kernel, FLOAT32, 2).resolved
        assert found["jit_compile"] == jit_compile
        assert found["use_cudnn"] == use_cudnn
        assert found["unroll"] == unroll


def test_recurrent_dropout_is_seen_to_choose_the_slow_implementation() -> None:
    assert models.build(tiny.FEATURES, Kernel.AUTO, FLOAT32, 2).resolved["implementation"] == "2"
    assert models.build(tiny.ALL["recurrent-dropout"], Kernel.AUTO, FLOAT32, 2).resolved["implementation"] == "1"


@pytest.mark.parametrize("name", tiny.ALL)
def test_weights_are_the_seeded_ones_in_canonical_order(name: str) -> None:
    built = models.build(tiny.ALL[name], Kernel.LOOP, FLOAT32, 2)
    for variable, array in zip(built.variables, data.weights(tiny.ALL[name]), strict=True):
        np.testing.assert_array_equal(variable.numpy(), array)


def test_the_precision_is_the_models_and_is_not_left_behind() -> None:
    before = keras.config.dtype_policy().name
    built = models.build(tiny.TOKENS, Kernel.LOOP, Precision.MIXED_BFLOAT16, 2)
    (layer,) = keras_layers.recurrent_layers(built.model)
    assert layer.dtype_policy.name == "mixed_bfloat16"
    assert built.model.outputs[0].dtype == "float32"
    assert keras.config.dtype_policy().name == before


def test_float16_is_trained_with_a_loss_scale() -> None:
    built = models.build(tiny.FEATURES, Kernel.LOOP, Precision.MIXED_FLOAT16, 2)
    assert built.loss_scale == float(built.model.optimizer.initial_scale) == keras_layers.LOSS_SCALE
    assert models.build(tiny.FEATURES, Kernel.LOOP, FLOAT32, 2).loss_scale == 1.0


def test_only_a_stateful_model_has_a_fixed_batch() -> None:
    assert models.build(tiny.ALL["stateful"], Kernel.LOOP, FLOAT32, 2).model.input_shape[0] == 2
    assert models.build(tiny.FEATURES, Kernel.LOOP, FLOAT32, 2).model.input_shape[0] is None


def test_without_use_cudnn_the_loop_is_a_cell_and_computes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Keras 2 gets, whose LSTM cannot be told to leave cuDNN."""
    inputs = data.dataset(tiny.ALL["bidirectional"], 2, 1).inputs[0]
    lstm = models.build(tiny.ALL["bidirectional"], Kernel.LOOP, FLOAT32, 2).model
    monkeypatch.setattr(keras_layers, "has_use_cudnn", lambda: False)
    cell = models.build(tiny.ALL["bidirectional"], Kernel.LOOP, FLOAT32, 2).model
    assert not any(isinstance(layer, keras.layers.LSTM) for layer in keras_layers.recurrent_layers(cell))
    np.testing.assert_allclose(cell(inputs), lstm(inputs), rtol=1e-6)


@pytest.fixture(scope="module")
def built() -> models.Built:
    """An untrained chatbot, wide enough that its answers are not all one token."""
    return models.build(replace(tiny.CHATBOT, units=16, embedding=8), Kernel.LOOP, FLOAT32, 4)


@pytest.fixture(scope="module")
def source() -> Any:
    return data.dataset(tiny.CHATBOT, 4, 1).inputs[0]


class TestChatbot:
    """Decoding depends on the input, and through nothing but h and c."""

    @staticmethod
    def tokens(distributions: list[Any]) -> Any:
        return np.argmax(np.concatenate(distributions, axis=1), axis=-1)

    def test_different_inputs_decode_differently(self, built: models.Built, source: Any) -> None:
        tokens = self.tokens(keras_paths.decode(built, source, 4, 8))
        assert len({tuple(row) for row in tokens}) > 1
        np.testing.assert_array_equal(tokens, self.tokens(keras_paths.decode(built, source, 4, 8)))

    @pytest.mark.parametrize("change", ["h zeroed", "c zeroed", "both zeroed", "swapped"])
    def test_other_states_change_the_output(self, built: models.Built, source: Any, change: str) -> None:
        class Changed:
            """The encoder, whose states are tampered with on their way to the decoder."""

            def predict(self, *args: Any, **options: Any) -> list[Any]:
                assert built.encoder is not None
                h, c = built.encoder.predict(*args, **options)
                return {
                    "h zeroed": [h * 0, c],
                    "c zeroed": [h, c * 0],
                    "both zeroed": [h * 0, c * 0],
                    "swapped": [c, h],
                }[change]

        right = keras_paths.decode(built, source, 4, 8)
        wrong = keras_paths.decode(replace(built, encoder=Changed()), source, 4, 8)
        assert np.abs(right[0] - wrong[0]).max() > 1e-3
        assert (self.tokens(right) != self.tokens(wrong)).any()

    def test_decoding_is_the_trained_model_fed_with_its_own_tokens(self, built: models.Built, source: Any) -> None:
        """Teacher forcing on the decoded tokens gives the same distributions: states and weights are shared."""
        distributions = np.concatenate(keras_paths.decode(built, source, 4, 4), axis=1)
        fed = np.concatenate([np.full((4, 1), data.START), np.argmax(distributions, axis=-1)[:, :-1]], axis=1)
        np.testing.assert_allclose(built.model([source, fed.astype(np.int32)]), distributions, atol=1e-6)


class TestUserModels:
    def test_a_builders_data_follow_its_shapes(self) -> None:
        built = models.build(BUILDER, Kernel.LOOP, FLOAT32, 2)
        found = user_models.dataset(BUILDER, built.model, 2, 3)
        assert [array.shape for array in found.inputs] == [(6, 4, 3)]
        assert found.targets.shape == (6, 1)

    def test_a_builders_weights_are_the_same_under_every_kernel(self) -> None:
        loop, unrolled = (models.build(BUILDER, kernel, FLOAT32, 2) for kernel in (Kernel.LOOP, Kernel.UNROLLED))
        for one, other in zip(loop.variables, unrolled.variables, strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())

    @pytest.mark.parametrize(
        ("builder", "words"),
        [
            ("no_such_module:build", "was not found: No module named 'no_such_module'"),
            (f"{__name__}:missing", "was not found"),
            (f"{__name__}:no_model", "returned LSTM; it must return"),
        ],
    )
    def test_a_builder_that_is_none_is_explained(self, builder: str, words: str) -> None:
        with pytest.raises(Problem, match=words) as caught:
            models.build(replace(BUILDER, builder=builder), Kernel.LOOP, FLOAT32, 2)
        assert caught.value.stage == "open"

    def test_an_open_length_needs_timesteps(self) -> None:
        open_length = replace(BUILDER, timesteps=0)
        built = models.build(open_length, Kernel.LOOP, FLOAT32, 2)
        with pytest.raises(Problem, match="give timesteps"):
            user_models.dataset(open_length, built.model, 2, 1)

    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Keras's own, about NumPy 2, while it saves
    def test_a_saved_model_keeps_its_weights_and_gets_the_kernel(self, tmp_path: Path) -> None:
        original = a_model(keras.layers.LSTM)
        original.save(tmp_path / "mine.keras")
        saved = Workload("mine", "", kind="saved", timesteps=4, head="linear", saved=str(tmp_path / "mine.keras"))
        built = models.build(saved, Kernel.XLA, FLOAT32, 2)
        for one, other in zip(built.model.weights, original.weights, strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())
        assert built.resolved["use_cudnn"] == "False"
        assert built.resolved["jit_compile"] == "True"

    def test_a_file_that_is_no_model_is_explained(self, tmp_path: Path) -> None:
        file = tmp_path / "mine.keras"
        file.write_text("no model")
        with pytest.raises(Problem, match=r"mine\.keras cannot be loaded by Keras"):
            models.build(Workload("mine", "", kind="saved", saved=str(file)), Kernel.LOOP, FLOAT32, 2)
