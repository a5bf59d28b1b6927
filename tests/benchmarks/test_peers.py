"""Each rule on rounds of which it is known what the tool says."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from docs.benchmarks.gate_quality import peers
from docs.benchmarks.gate_quality.peers import Criterion, rules
from perf.harness.errors import Refusal

MEDIAN, MINIMUM = "pytest-benchmark, median:10%", "pytest-benchmark, min:10%"
ASV = "asv, factor 1.1, Mann–Whitney p < .002"
PYPERF = "pyperf, pooled t, 95 %"
CRITERION = "Criterion, bootstrap t p < .05, beyond 1 %"
#: Thirty rounds around 10 ms, 1 % apart at most.
STEADY = [0.01 * (1 + 0.001 * (number % 11 - 5)) for number in range(30)]


def times(factor: float) -> list[float]:
    return [seconds * factor for seconds in STEADY]


@pytest.fixture(scope="module")
def by_name():
    return {rule.name: rule.slower for rule in rules(1)}


def test_equal_rounds_are_slower_for_nobody(by_name):
    assert [slower(STEADY, STEADY) for slower in by_name.values()] == [False] * 5


def test_twice_as_slow_is_slower_for_all_and_twice_as_fast_for_nobody(by_name):
    assert all(slower(STEADY, times(2.0)) for slower in by_name.values())
    assert not any(slower(times(2.0), STEADY) for slower in by_name.values())


def test_two_percent_is_beyond_the_tests_and_within_the_thresholds(by_name):
    found = {name: slower(STEADY, times(1.02)) for name, slower in by_name.items()}
    assert found == {
        MEDIAN: False,
        MINIMUM: False,
        ASV: False,
        PYPERF: True,
        CRITERION: True,
    }


def test_half_a_percent_is_noise_for_criterion_and_not_for_pyperf(by_name):
    slower = times(1.005)
    assert by_name[PYPERF](STEADY, slower)
    assert not by_name[CRITERION](STEADY, slower)


def test_the_minimum_and_the_median_look_at_different_rounds(by_name):
    slower = [min(STEADY), *times(1.2)[1:]]
    assert by_name[MEDIAN](STEADY, slower)
    assert not by_name[MINIMUM](STEADY, slower)


def test_asv_needs_samples_that_differ_besides_the_factor(by_name):
    noisy = [0.01, 0.02] * 5
    assert not by_name[ASV](noisy, [seconds * 1.15 for seconds in noisy])
    assert by_name[ASV](STEADY, times(1.15))


def test_pyperf_takes_sides_with_different_numbers_of_rounds(by_name):
    assert by_name[PYPERF](STEADY, times(1.1)[:20])
    assert not by_name[PYPERF](STEADY[:20], STEADY)


def test_fewer_resamples_give_the_same_p_value_within_noise():
    random = np.random.default_rng(3)
    then, now = random.normal(1.0, 0.1, 40), random.normal(1.045, 0.1, 40)
    few = [Criterion(seed).p_value(then, now) for seed in range(20)]
    many = Criterion(1, resamples=100_000).p_value(then, now)
    assert 0.01 < many < 0.2
    assert np.mean(few) == pytest.approx(many, abs=0.006)


def test_criterions_p_value_is_that_of_welchs_test():
    from scipy.stats import ttest_ind

    random = np.random.default_rng(4)
    then, now = random.normal(1.0, 0.1, 60), random.normal(1.03, 0.1, 50)
    expected = ttest_ind(now, then, equal_var=False).pvalue
    assert Criterion(1, resamples=50_000).p_value(then, now) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(("module", "package"), [("asv.commands.compare", "asv"), ("pyperf._utils", "pyperf")])
def test_a_tool_that_is_not_installed_is_named_with_the_extra(monkeypatch, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(Refusal, match=rf"rule of {package} .*'\.\[quality\]'"):
        {"asv": peers._asv, "pyperf": peers._pyperf}[package]()
