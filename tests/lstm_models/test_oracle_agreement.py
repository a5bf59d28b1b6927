"""How far apart numbers are: errors on the reference's scale, and the numbers a case stores."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lstm_models.agreement import (
    GRADIENT_FACTOR,
    SMALLEST_GRADIENT_SCALE,
    TOLERANCE,
    Agreement,
    gradient_error,
    probe,
    relative_error,
)
from lstm_models.words import Precision


def test_error_is_relative_to_the_largest_expected_number() -> None:
    assert relative_error(np.array([1.0, -4.2]), np.array([1.1, -4.0])) == pytest.approx(0.05)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_infinitely_off(bad: float) -> None:
    assert relative_error(np.array([1.0, bad]), np.array([1.0, 2.0])) == math.inf
    assert relative_error(np.array([1.0, 2.0]), np.array([1.0, bad])) == math.inf
    assert gradient_error([np.array([bad])], [np.array([1.0])])[0] == math.inf


def test_another_shape_is_infinitely_off() -> None:
    assert relative_error(np.zeros((2, 1)), np.zeros(2)) == math.inf
    assert gradient_error([np.zeros(2)], []) == (math.inf, "1 gradients where 0 were expected")


def test_where_nothing_is_expected_anything_is_infinitely_off() -> None:
    assert relative_error(np.zeros(2), np.zeros(2)) == 0.0
    assert relative_error(np.array([0.0, 1e-9]), np.zeros(2)) == math.inf


def test_a_small_tensor_is_held_to_its_own_scale() -> None:
    expected = [np.array([1000.0]), np.array([2.0, 10.0])]
    error, worst = gradient_error([np.array([1000.0]), np.array([0.0, 10.0])], expected)
    assert error == pytest.approx(0.2)
    assert worst == "gradient 2 of 2, shape (2,)"


def test_a_tensor_that_cancels_is_held_to_a_share_of_the_largest() -> None:
    expected = [np.array([1.0]), np.array([0.0])]
    error, _ = gradient_error([np.array([1.0]), np.array([1e-9])], expected)
    assert error == pytest.approx(1e-9 / SMALLEST_GRADIENT_SCALE)


@pytest.mark.parametrize("size", [1, 2, 15, 16, 17, 1000])
def test_probe_is_spread_from_first_to_last(size: int) -> None:
    found = probe(np.arange(size))
    assert len(found) == min(size, 16)
    assert list(found) == sorted(set(found))
    assert (found[0], found[-1]) == (0.0, float(size - 1))
    assert all(type(number) is float for number in found)


def test_probe_of_a_scalar_is_that_number() -> None:
    assert probe(np.float32(0.1)) == (float(np.float32(0.1)),)


def test_agreement_needs_both_within_their_tolerance() -> None:
    tolerance, factor = TOLERANCE[Precision.MIXED_FLOAT16], GRADIENT_FACTOR[Precision.MIXED_FLOAT16]
    assert Agreement(tolerance, factor * tolerance, tolerance, (), factor).agrees
    assert not Agreement(tolerance * 1.01, None, tolerance, (), factor).agrees
    assert not Agreement(tolerance, factor * tolerance * 1.01, tolerance, (), factor).agrees
    assert not Agreement(math.nan, None, tolerance, (), factor).agrees
    assert not Agreement(0.0, math.nan, tolerance, (), factor).agrees
    assert Agreement(None, None, tolerance, (), factor).agrees


def test_message_says_what_is_off_by_how_much_and_where() -> None:
    found = Agreement(1e-7, 0.5, 1e-5, (), 1.0, "gradient 2 of 3, shape (6, 24)")
    assert "gradients differ from the float64 reference by 5.0e-01" in found.message
    assert "tolerance 1e-05" in found.message
    assert "gradient 2 of 3, shape (6, 24)" in found.message
    assert "beyond" not in Agreement(1e-7, None, 1e-5, ()).message
    assert "no reference" in Agreement(None, None, 1e-5, ()).message
