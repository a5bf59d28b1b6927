"""Formulas against hand-made numbers, SciPy, and simulation."""

from __future__ import annotations

import math
import statistics
import subprocess
import sys

import numpy as np
import pytest
import scipy.stats

from perf.harness import stats


def test_interval_over_processes_is_the_t_interval_of_the_logarithms():
    values = [0.010, 0.011, 0.013]
    estimate = stats.interval_over_processes(values)
    logs = np.log(values)
    low, high = scipy.stats.t.interval(0.95, 2, loc=logs.mean(), scale=scipy.stats.sem(logs))
    assert estimate.value == 0.011
    assert (estimate.low, estimate.high) == pytest.approx((math.exp(low), math.exp(high)))


def test_one_process_has_no_interval_and_equal_ones_an_empty_one():
    assert stats.interval_over_processes([0.01]) == stats.Estimate(0.01, None, None)
    equal = stats.interval_over_processes([0.01] * 3)
    assert (equal.low, equal.high) == pytest.approx((0.01, 0.01))


def test_the_value_lies_in_its_interval():
    estimate = stats.interval_over_processes([1.0] * 9 + [1e6])
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low <= estimate.value <= estimate.high


def test_difference_estimators_by_hand():
    assert stats.successive_difference_variance([0, 1, 3]) == pytest.approx((5 / 4, 8 / 5))
    assert stats.second_difference_variance([0, 1, 3]) == pytest.approx((1 / 6, 1.0))
    assert stats.second_difference_variance([0, 1, 3, 2])[0] == pytest.approx((1 + 9) / 12)


def test_a_drift_hardly_inflates_the_estimators():
    drift = [0.04 * step for step in range(10)]
    assert stats.second_difference_variance(drift)[0] == pytest.approx(0, abs=1e-12)
    assert stats.successive_difference_variance(drift)[0] < statistics.variance(drift) / 10


@pytest.mark.parametrize("estimator", [stats.successive_difference_variance, stats.second_difference_variance])
@pytest.mark.parametrize("n", [3, 4, 6, 20])
def test_estimators_are_unbiased_with_the_degrees_they_claim(estimator, n):
    rows = np.random.default_rng(1).normal(size=(4000, n))
    variances = np.array([estimator(row)[0] for row in rows])
    degrees = estimator(rows[0])[1]
    assert variances.mean() == pytest.approx(1, rel=0.06)
    assert 2 / variances.var() == pytest.approx(degrees, rel=0.15)


def test_spreads_shrink_towards_the_mean_of_all():
    histories = {"a": [0.0, 0.0, 0.0], "b": [0.0, 0.1, 0.0], "c": [0.0, 0.2, 0.0]}
    spreads = stats.shrunk_spreads(histories)
    own = {key: stats.successive_difference_variance(values)[0] for key, values in histories.items()}
    prior, degrees = 3.2, 1.6  # what the other two know, below the 4 that a larger suite would lend
    common = statistics.fmean(own.values())
    for key, spread in spreads.items():
        assert spread.degrees == pytest.approx(prior + degrees)
        assert spread.sd == pytest.approx(math.sqrt((prior * common + degrees * own[key]) / (prior + degrees)))
    assert stats.shrunk_spreads({}) == {}


def test_one_case_alone_borrows_nothing_and_many_lend_four_degrees():
    alone = stats.shrunk_spreads({"a": [0.0, 0.1, 0.0]})["a"]
    assert alone.degrees == pytest.approx(1.6)
    many = stats.shrunk_spreads({str(number): [0.0, 0.1, 0.0] for number in range(24)})["3"]
    assert many.degrees == pytest.approx(5.6)
    assert stats.shrunk_spreads({"a": [1.0, 1.0, 1.0]}, floor=0.005)["a"].sd == 0.005


def test_holm_steps_down():
    assert stats.holm({"a": 0.001, "b": 0.02, "c": 0.04, "d": 0.9}, 0.05) == {"a": 0.0125}
    assert stats.holm({"a": 0.001, "b": 0.016, "c": 0.04}, 0.05) == pytest.approx(
        {"a": 0.05 / 3, "b": 0.025, "c": 0.05}
    )
    assert stats.holm({"a": 0.03, "b": 0.03}, 0.05) == {}
    assert stats.holm({}) == {}


@pytest.mark.parametrize("degrees", [1.0, 1.6, 5.6, 30.0])
def test_tails_and_quantiles_agree_with_scipy(degrees):
    assert stats.t_quantile(0.95, degrees) == pytest.approx(scipy.stats.t.ppf(0.95, degrees))
    assert stats.upper_tail(3.0, degrees) == pytest.approx(scipy.stats.t.sf(3.0, degrees))


def test_infinite_degrees_are_normal():
    assert stats.t_quantile(0.95, math.inf) == pytest.approx(1.6449, abs=1e-4)
    assert stats.upper_tail(10.0, math.inf) == pytest.approx(scipy.stats.norm.sf(10.0))


def test_importing_the_judge_loads_no_scipy():
    code = "import sys, perf.harness.verdict, perf.harness.baseline, perf.harness.runs; print('scipy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
