"""Seeded weights and data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lstm_models import data, workloads
from tests.lstm_models import tiny


def test_weights_stand_in_canonical_order() -> None:
    assert [array.shape for array in data.weights(tiny.TOKENS)] == [(11, 5), (5, 12), (3, 12), (12,), (3, 11), (11,)]
    layers = [(5, 12), (3, 12), (12,)] * 2 + [(6, 12), (3, 12), (12,)] * 2
    assert [array.shape for array in data.weights(tiny.ALL["bidirectional"])] == [*layers, (6, 1), (1,)]
    assert [array.shape for array in data.weights(tiny.ALL["no-bias"])] == [(5, 12), (3, 12)]
    one = [(11, 5), (5, 24), (6, 24), (24,)]
    assert [array.shape for array in data.weights(tiny.CHATBOT)] == [*one, *one, (6, 11), (11,)]


def test_weights_and_data_are_float32_and_the_same_every_time() -> None:
    for workload in tiny.ALL.values():
        for first, second in zip(data.weights(workload), data.weights(workload), strict=True):
            assert first.dtype == np.float32
            np.testing.assert_array_equal(first, second)
        one, other = data.dataset(workload, 2, 3), data.dataset(workload, 2, 3)
        np.testing.assert_array_equal(one.targets, other.targets)
        for first, second in zip(one.inputs, other.inputs, strict=True):
            np.testing.assert_array_equal(first, second)


def test_the_numbers_are_the_same_on_every_machine() -> None:
    """Written down once: results of two environments are only comparable if these never move."""
    np.testing.assert_allclose(data.weights(tiny.FEATURES)[0][0, :3], FIRST_WEIGHTS, rtol=1e-7)
    np.testing.assert_array_equal(data.dataset(tiny.TOKENS, 1, 1).inputs[0][0], FIRST_TOKENS)


def test_the_first_batch_does_not_depend_on_how_many_there_are() -> None:
    for workload in tiny.ALL.values():
        one, many = data.dataset(workload, 2, 1), data.dataset(workload, 2, 8).first(2)
        np.testing.assert_array_equal(one.targets, many.targets)
        for first, second in zip(one.inputs, many.inputs, strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("mask", ["right", "left"])
@pytest.mark.parametrize("workload", [tiny.FEATURES, tiny.TOKENS], ids=["features", "tokens"])
def test_padding_is_zero_at_one_end_and_lengths_vary(mask: str, workload: workloads.Workload) -> None:
    (inputs,) = data.dataset(replace(workload, mask=mask, timesteps=9), 32, 1).inputs
    kept = inputs.reshape(32, 9, -1).any(axis=-1)
    lengths = kept.sum(axis=1)
    assert lengths.min() == 5
    assert lengths.max() == 9
    expected = [[(t < n) if mask == "right" else (t >= 9 - n) for t in range(9)] for n in lengths]
    np.testing.assert_array_equal(kept, expected)


def test_shapes_and_types_of_inputs_and_targets() -> None:
    def shapes(name: str) -> tuple[object, ...]:
        found = data.dataset(tiny.ALL[name], 2, 3)
        return (*((array.shape, str(array.dtype)) for array in found.inputs), found.targets.shape)

    assert shapes("features") == (((6, 4, 5), "float32"), (6, 3))
    assert shapes("tokens") == (((6, 4), "int32"), (6,))
    assert shapes("bidirectional") == (((6, 4, 5), "float32"), (6, 1))
    assert shapes("sequences") == (((6, 4, 5), "float32"), (6, 4, 2))
    assert shapes("chatbot") == (((6, 4), "int32"), ((6, 4), "int32"), (6, 4))


def test_tokens_are_in_the_vocabulary_and_never_padding() -> None:
    (inputs,) = data.dataset(tiny.TOKENS, 64, 4).inputs
    assert inputs.min() == 1
    assert inputs.max() == 10
    targets = data.dataset(tiny.TOKENS, 64, 4).targets
    assert (targets.min(), targets.max()) == (0, 10)


def test_a_decoder_is_fed_its_targets_one_step_late() -> None:
    found = data.dataset(tiny.CHATBOT, 2, 2)
    assert (found.inputs[1][:, 0] == data.START).all()
    np.testing.assert_array_equal(found.inputs[1][:, 1:], found.targets[:, :-1])


def test_other_workloads_have_other_numbers() -> None:
    other = replace(tiny.FEATURES, name="other")
    assert not np.array_equal(data.weights(other)[0], data.weights(tiny.FEATURES)[0])


def test_the_forget_gate_is_open_as_keras_begins() -> None:
    bias = data.weights(tiny.FEATURES)[2]
    assert (bias[3:6] > 0.9).all()
    assert (np.abs(np.delete(bias, [3, 4, 5])) <= 0.1).all()


def test_weights_of_a_users_model_follow_its_shapes_and_not_its_record() -> None:
    built = workloads.Workload("mine", "", kind="builder", builder="a:b")
    with pytest.raises(ValueError, match="depend on its model"):
        data.weights(built)
    assert [array.shape for array in data.weights_like(built, [(3, 4), (4,)])] == [(3, 4), (4,)]


FIRST_WEIGHTS = [-0.418747455, -0.264308274, -0.4565157]
FIRST_TOKENS = [6, 7, 6, 2]
