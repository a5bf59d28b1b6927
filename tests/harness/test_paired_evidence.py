"""The numbers behind a paired verdict, against formulas written out here."""

import dataclasses
import math
import statistics

import pytest
from scipy import stats

from perf.harness.paired_evidence import MEMORY_BYTES, Evidence, Metric, evidence
from tests.harness.paired_makers import around, pair, paired

DIFFERENCES = (0.02, 0.05, -0.01, 0.03, 0.04, 0.01)
NUMBERS = Evidence(DIFFERENCES, math.log(1.05), 0.01, 0.0103)


def test_the_interval_is_the_t_interval_over_pairs():
    low, high = stats.t.interval(0.9, 5, loc=statistics.fmean(DIFFERENCES), scale=stats.sem(DIFFERENCES))
    change = NUMBERS.change()
    assert (change.low, change.high) == pytest.approx((math.exp(low), math.exp(high)))
    assert change.ratio == pytest.approx(math.exp(statistics.fmean(DIFFERENCES)))
    assert change.level == pytest.approx(0.9)


def test_the_p_value_is_one_sided_against_the_margin():
    expected = stats.ttest_1samp(DIFFERENCES, math.log(1.05), alternative="greater").pvalue
    assert NUMBERS.p_value() == pytest.approx(expected)


def test_the_interval_at_the_level_of_the_test_ends_at_the_margin_where_the_test_just_rejects():
    numbers = dataclasses.replace(NUMBERS, differences=around(0.1, 0.03))
    assert numbers.change(1 - 2 * numbers.p_value()).low == pytest.approx(1.05)


def test_the_smallest_visible_change_is_the_one_of_the_method():
    s = statistics.stdev(DIFFERENCES)
    expected = math.exp(math.log(1.05) + (stats.t.ppf(0.95, 5) + stats.t.ppf(0.8, 5)) * s / math.sqrt(6))
    assert NUMBERS.smallest_visible() == pytest.approx(expected)


def test_pairs_for_power_grow_with_the_spread_within_bounds():
    counts = [
        dataclasses.replace(NUMBERS, differences=around(0.1, spread)).pairs_for(0.05, (10, 20))
        for spread in (0.001, 0.04, 0.05, 0.2)
    ]
    assert counts[0] == 10
    assert counts == sorted(counts)
    assert 10 < counts[2] < 20
    assert counts[3] == 20


def test_equal_differences_are_no_proof_and_no_division_by_zero():
    numbers = Evidence((0.01,) * 6, math.log(1.05), 1.0, 1.01)
    assert 0 < numbers.change().high - numbers.change().low < 0.001


def test_metrics_have_their_own_margins():
    found = evidence(paired(around(0.1)), 0.02)
    assert found[Metric.STEP].margins_ratio == pytest.approx(1.02)
    assert found[Metric.FIRST_CALL].margins_ratio == pytest.approx(1.25)
    assert found[Metric.STEP].mean == pytest.approx(0.1)
    assert found[Metric.FIRST_CALL].mean == 0


@pytest.mark.parametrize(("mebibytes", "margin"), [(400, 1.10), (40, 1.10), (10, 1.4)])
def test_memory_must_change_by_ten_percent_and_four_mebibytes(mebibytes, margin):
    peak = {"bytes_peak": mebibytes * 2**20}
    numbers = evidence(paired(baseline=peak, candidate=peak), 0.05)[Metric.MEMORY]
    assert numbers.margins_ratio == pytest.approx(margin)
    assert numbers.baseline * (numbers.margins_ratio - 1) >= MEMORY_BYTES * 0.999


def test_memory_of_no_byte_is_no_fault():
    assert evidence(paired(baseline={"bytes_peak": 0}), 0.05)[Metric.MEMORY].mean > 0


def test_memory_is_that_of_the_device_that_ran_the_case():
    peaks = ({"bytes_peak": 400 * 2**20, "device_bytes_peak": side * 2**20} for side in (100, 200))
    measured = paired(**dict(zip(("baseline", "candidate"), peaks, strict=True)))
    on_gpu = dataclasses.replace(measured, spec=dataclasses.replace(measured.spec, device="gpu"))
    assert evidence(measured, 0.05)[Metric.MEMORY].mean == 0
    assert evidence(on_gpu, 0.05)[Metric.MEMORY].mean == pytest.approx(math.log(2))


def test_memory_that_one_side_cannot_read_is_absent():
    unread = paired(candidate={"bytes_peak": None})
    assert Metric.MEMORY not in evidence(unread, 0.05)
    once = dataclasses.replace(unread, pairs=(*paired().pairs, unread.pairs[0]))
    assert Metric.MEMORY not in evidence(once, 0.05)


def test_a_pair_without_a_steady_state_is_left_out_and_too_many_leave_nothing():
    steady = [pair(0.0, number) for number in range(1, 6)]
    drifts = pair(3.0, 6, candidate={"steady": False})
    result = dataclasses.replace(paired(), pairs=(*steady, drifts))
    assert evidence(result, 0.05)[Metric.STEP].differences == pytest.approx((0.0,) * 5)
    assert evidence(result, 0.05)[Metric.FIRST_CALL].count == 6
    result = dataclasses.replace(paired(), pairs=(*steady[:4], drifts, drifts))
    assert Metric.STEP not in evidence(result, 0.05)
    assert evidence(result, 0.05)[Metric.FIRST_CALL].count == 6


def test_a_pair_is_the_median_of_the_ratios_of_its_rounds_and_no_ratio_of_medians():
    one = pair(
        baseline={"seconds_per_round": (1.0, 2.0, 4.0, 9.0, 1.0)},
        candidate={"seconds_per_round": (1.1, 2.2, 4.4, 1.0, 9.0)},
    )
    assert one.log_ratio == pytest.approx(math.log(1.1))
