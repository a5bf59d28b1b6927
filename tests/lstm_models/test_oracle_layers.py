"""The oracle's LSTM against numeric differences and against Keras's own layer, for every option."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lstm_models.oracle_layers import LSTMWeights, Tape, lstm_backward, lstm_forward

BATCH, STEPS, FEATURES, UNITS = 5, 7, 3, 4

MASKS = {
    "none": None,
    "right": np.arange(STEPS) < np.array([[7], [5], [3], [1], [6]]),
    "left": np.arange(STEPS) >= np.array([[0], [2], [4], [6], [1]]),
    "middle": np.arange(STEPS) % np.array([[2], [3], [4], [5], [7]]) != 1,
    "full": np.arange(STEPS) < np.array([[7], [0], [3], [0], [6]]),
}
OPTIONS = {
    "default": {},
    "no-bias": {"use_bias": False},
    "relu": {"activation": "relu"},
    "backwards": {"go_backwards": True},
    "unrolled": {"unroll": True},
    "backwards-unrolled": {"go_backwards": True, "unroll": True},
}


def weights_of(seed: int, use_bias: bool = True) -> LSTMWeights:
    random = np.random.default_rng(seed)
    shapes: list[Any] = [(FEATURES, 4 * UNITS), (UNITS, 4 * UNITS)] + [(4 * UNITS,)] * use_bias
    return LSTMWeights.of(*(0.6 * random.standard_normal(shape).astype(np.float32) for shape in shapes))


def inputs_of(seed: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal((BATCH, STEPS, FEATURES)).astype(np.float32)


def states_of(seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    random = np.random.default_rng(seed)
    return tuple(random.standard_normal((BATCH, UNITS)).astype(np.float32) for _ in "hc")  # type: ignore[return-value]


def slopes(seed: int) -> dict[str, Any]:
    """Random gradients of a scalar with respect to all that the layer gives."""
    random = np.random.default_rng(seed)
    return {
        "sequence": random.standard_normal((BATCH, STEPS, UNITS)),
        "last": random.standard_normal((BATCH, UNITS)),
        "states": (random.standard_normal((BATCH, UNITS)), random.standard_normal((BATCH, UNITS))),
    }


def scalar(tape: Tape, slope: dict[str, Any]) -> float:
    (h, c), (slope_h, slope_c) = tape.states, slope["states"]
    return float(
        (tape.sequence * slope["sequence"]).sum()
        + (tape.last * slope["last"]).sum()
        + (h * slope_h).sum()
        + (c * slope_c).sum()
    )


@pytest.mark.parametrize("zero_masked", [False, True])
@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("mask", MASKS)
def test_gradients_are_the_numeric_differences(
    mask: str, activation: str, go_backwards: bool, zero_masked: bool
) -> None:
    weights, inputs, (h, c), slope = weights_of(1), inputs_of(2).astype(np.float64), states_of(3), slopes(4)
    point = [inputs, *weights.as_list(), np.asarray(h, np.float64), np.asarray(c, np.float64)]

    def run(values: list[np.ndarray[Any, Any]]) -> Tape:
        x, kernel, recurrent, bias, hidden, cell = values
        return lstm_forward(
            x, LSTMWeights(kernel, recurrent, bias), activation=activation, mask=MASKS[mask],
            go_backwards=go_backwards, initial=(hidden, cell), zero_masked=zero_masked,
        )  # fmt: skip

    found = lstm_backward(run(point), **slope)
    gradients = [found.inputs, *found.weights, found.hidden, found.cell]
    random = np.random.default_rng(5)
    for at, gradient in enumerate(gradients):  # along one random direction per tensor
        direction = random.standard_normal(point[at].shape)
        ends = []
        for step in (1e-6, -1e-6):
            moved = list(point)
            moved[at] = point[at] + step * direction
            ends.append(scalar(run(moved), slope))
        assert (gradient * direction).sum() == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-6)


def test_long_sequences_are_one_with_short_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, inputs, slope = weights_of(1), inputs_of(2), slopes(3)
    whole = lstm_forward(inputs, weights, mask=MASKS["middle"])
    whole_gradients = lstm_backward(whole, **slope)
    monkeypatch.setattr("lstm_models.oracle_layers._BLOCK", 3)  # 7 steps: a whole number of blocks and a rest
    parts = lstm_forward(inputs, weights, mask=MASKS["middle"])
    part_gradients = lstm_backward(parts, **slope)
    np.testing.assert_allclose(parts.sequence, whole.sequence, rtol=1e-13)
    np.testing.assert_allclose(part_gradients.inputs, whole_gradients.inputs, rtol=1e-12, atol=1e-14)
    for part, all_at_once in zip(part_gradients.weights, whole_gradients.weights, strict=True):
        np.testing.assert_allclose(part, all_at_once, rtol=1e-12, atol=1e-14)


def test_gradients_leave_their_arguments_alone() -> None:
    tape, slope = lstm_forward(inputs_of(1), weights_of(2)), slopes(3)
    before = slope["sequence"].copy()
    first, second = lstm_backward(tape, **slope), lstm_backward(tape, **slope)
    np.testing.assert_array_equal(slope["sequence"], before)
    np.testing.assert_array_equal(first.inputs, second.inputs)


def test_unknown_activation_is_named() -> None:
    with pytest.raises(ValueError, match="'gelu'; it knows tanh and relu"):
        lstm_forward(inputs_of(1), weights_of(2), activation="gelu")


def close(found: Any, expected: np.ndarray[Any, Any]) -> None:
    found = np.asarray(found)
    assert found.shape == expected.shape
    assert np.max(np.abs(found - expected)) <= 1e-5 * np.max(np.abs(expected))


def keras_layer(weights: LSTMWeights, **options: Any) -> Any:
    import keras

    layer = keras.layers.LSTM(UNITS, return_state=True, use_cudnn=False, **options)
    layer.build((BATCH, STEPS, FEATURES))
    layer.set_weights([tensor.astype(np.float32) for tensor in weights.as_list()])
    return layer


@pytest.mark.parametrize("started", [False, True], ids=["zero-state", "given-state"])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("option", OPTIONS)
def test_layer_is_keras_layer(option: str, mask: str, started: bool) -> None:
    import tensorflow as tf

    options = OPTIONS[option]
    weights = weights_of(1, use_bias=options.get("use_bias", True))
    inputs, initial, slope = inputs_of(2), states_of(3) if started else None, slopes(4)
    layer = keras_layer(weights, return_sequences=True, **options)
    given = tf.constant(inputs)
    start = None if initial is None else [tf.constant(state) for state in initial]
    marked = None if MASKS[mask] is None else tf.constant(MASKS[mask])
    watched = [given] + [variable.value for variable in layer.trainable_variables] + (start or [])

    with tf.GradientTape() as recorded:
        recorded.watch([given, *(start or [])])
        sequence, h, c = layer(given, mask=marked, initial_state=start)
        total = (
            tf.reduce_sum(sequence * slope["sequence"].astype(np.float32))
            + tf.reduce_sum(sequence[:, -1] * slope["last"].astype(np.float32))
            + tf.reduce_sum(h * slope["states"][0].astype(np.float32))
            + tf.reduce_sum(c * slope["states"][1].astype(np.float32))
        )
    gradients = recorded.gradient(total, watched)
    tape = lstm_forward(
        inputs, weights, activation=options.get("activation", "tanh"), mask=MASKS[mask],
        go_backwards=options.get("go_backwards", False), initial=initial,
    )  # fmt: skip
    close(sequence, tape.sequence)
    close(h, tape.states[0])
    close(c, tape.states[1])
    expected = lstm_backward(tape, **slope)
    close(gradients[0], expected.inputs)
    for found, wanted in zip(gradients[1:], [*expected.weights, expected.hidden, expected.cell], strict=started):
        close(found, wanted)


@pytest.mark.parametrize("mask", MASKS)
def test_output_of_the_last_step_is_keras_output_without_sequences(mask: str) -> None:
    weights, inputs, initial = weights_of(1), inputs_of(2), states_of(3)
    output, h, c = keras_layer(weights)(inputs, mask=MASKS[mask], initial_state=list(initial))
    tape = lstm_forward(inputs, weights, mask=MASKS[mask], initial=initial)
    close(output, tape.last)
    close(h, tape.states[0])
    close(c, tape.states[1])


def test_stateful_layer_starts_from_the_states_before() -> None:
    weights, first, second = weights_of(1), inputs_of(2), inputs_of(3)
    layer = keras_layer(weights, stateful=True)
    layer(first)
    output, _, _ = layer(second)
    before = lstm_forward(first, weights)
    close(output, lstm_forward(second, weights, initial=before.states).last)


@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.parametrize("mask", MASKS)
def test_two_directions_are_keras_bidirectional(mask: str, sequences: bool) -> None:
    import keras

    both, inputs = [weights_of(1), weights_of(2)], inputs_of(3)
    layer = keras.layers.Bidirectional(keras.layers.LSTM(UNITS, return_sequences=sequences, use_cudnn=False))
    layer.build((BATCH, STEPS, FEATURES))
    layer.set_weights([tensor.astype(np.float32) for weights in both for tensor in weights.as_list()])
    forward, backward = (
        lstm_forward(inputs, weights, mask=MASKS[mask], go_backwards=reverse, zero_masked=sequences)
        for weights, reverse in zip(both, (False, True), strict=True)
    )
    parts = [forward.sequence, backward.sequence[:, ::-1]] if sequences else [forward.last, backward.last]
    close(layer(inputs, mask=MASKS[mask]), np.concatenate(parts, axis=-1))
