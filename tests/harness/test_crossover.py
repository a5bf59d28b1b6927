"""Curves, crossings and the decision, on made-up ratios."""

from __future__ import annotations

import math

import pytest

from perf.harness.costs import costs
from perf.harness.crossover import asserted_sizes, assertions, curve, find_crossing, judge
from perf.harness.expectation_records import Axis, Crossing, Kind, Observation, Observed, State, Where
from perf.harness.paired_evidence import Metric
from perf.harness.records import Failure
from tests.harness.expectation_makers import around, crossover, expectation, observed

LN = math.log


def state_of(one, by_size, **changes):
    return judge([one], {one.id: observed(by_size, **changes)})[one.id].state


@pytest.mark.parametrize(
    ("log_ratio", "ratio", "state"),
    [
        (LN(0.5), 1.5, State.HOLDS),
        (LN(0.5), 2.0, State.IN_BAND),
        (LN(0.5), 2.5, State.BROKEN),
        (LN(2.0), 1.0, State.BROKEN),
        (LN(1.03), 1.0, State.IN_BAND),
    ],
)
def test_an_ordering_holds_by_its_ratio(log_ratio, ratio, state):
    assert state_of(expectation(ratio=ratio), {1: around(log_ratio)}) is state


@pytest.mark.parametrize(
    ("log_ratio", "state"),
    [
        (0.0, State.HOLDS),
        (LN(1.2), State.IN_BAND),
        (-LN(1.2), State.IN_BAND),
        (LN(1.5), State.BROKEN),
        (-LN(1.5), State.BROKEN),
    ],
)
def test_equals_may_differ_by_the_ratio_either_way(log_ratio, state):
    assert state_of(expectation(kind=Kind.EQUAL, ratio=1.2), {1: around(log_ratio)}) is state


@pytest.mark.parametrize(("last", "state"), [(-0.2, State.HOLDS), (-1.0, State.BROKEN), (-0.7, State.IN_BAND)])
def test_a_lead_narrows_within_each_process(last, state):
    """Processes differ by far more than the lead does; only their own difference counts."""
    levels = (0.0, 1.0, -1.0, 0.5, -0.5, 0.2)
    by_size = {1: [-1.0 + level for level in levels], 64: [last + level for level in levels]}
    one = expectation(kind=Kind.NARROWING, sizes=(1, 64), ratio=math.exp(0.3))
    assert state_of(one, by_size) is state


def test_noise_and_few_processes_say_nothing():
    one = expectation(ratio=1.5)
    assert state_of(one, {1: around(0.5, spread=1.0)}) is State.NOISY
    assert state_of(one, {1: (1.0, 1.0, 1.0)}) is State.NOISY
    assert state_of(one, {1: around(1.0)}, steady=False) is State.NOISY
    assert state_of(one, {1: ()}) is State.NOISY


def test_a_failure_and_a_budget_are_said():
    failed = judge([expectation()], {"a-beats-b": observed({1: ()}, failure=Failure("worker", "was killed"))})
    assert failed["a-beats-b"].state is State.FAILED
    assert "was killed" in failed["a-beats-b"].message
    assert state_of(expectation(), {1: (1.0,)}, unfinished=True) is State.UNFINISHED
    # What was measured may be enough all the same.
    assert state_of(expectation(), {1: around(1.0)}, unfinished=True) is State.BROKEN


def test_a_skipped_one_is_stated_with_its_reason():
    (result,) = judge([expectation(skip="no gpu is measured here")], {}).values()
    assert result.state is State.SKIPPED
    assert "no gpu" in result.message


def test_more_assertions_need_more_evidence():
    """Holm's procedure: what would break alone does not among many."""
    weak = around(LN(1.05) + 0.05, spread=0.045)
    alone = [expectation("e0")]
    many = [expectation(f"e{number}") for number in range(20)]
    assert judge(alone, {"e0": observed({1: weak})})["e0"].state is State.BROKEN
    results = judge(many, {each.id: observed({1: weak if each.id == "e0" else around(-1.0)}) for each in many})
    assert results["e0"].state is State.NOISY


@pytest.mark.parametrize(
    ("where", "at", "sizes"),
    [
        (Where.ABOVE, None, (64,)),
        (Where.BELOW, None, (1,)),
        (Where.ABOVE, 8, (16, 64)),
        (Where.BELOW, 8, (1, 4)),
        (Where.EVERYWHERE, None, (1, 4, 16, 64)),
    ],
)
def test_a_crossover_is_asserted_outside_its_band(where, at, sizes):
    assert asserted_sizes(crossover(where=where, at=at)) == sizes
    assert len(
        assertions(crossover(where=where, at=at), observed(dict.fromkeys((1, 4, 16, 64), (0.0,))).observations)
    ) == len(sizes)


def find(by_size, **changes):
    return find_crossing(crossover(sizes=tuple(by_size), **changes), observed(by_size).observations)


def test_a_crossing_is_interpolated_in_the_logarithm_of_the_size():
    found = find({1: around(0.4), 4: around(0.2), 16: around(-0.2), 64: around(-0.4)})
    assert found == Crossing(pytest.approx(8.0), 4.0, 16.0)


def test_below_the_curve_is_turned():
    found = find({1: around(-0.4), 4: around(-0.2), 16: around(0.2)}, where=Where.BELOW)
    assert found == Crossing(pytest.approx(8.0), 4.0, 16.0)


def test_a_crossing_the_other_way_is_told_where_there_is_none_the_expected_way():
    curve = {1: around(0.4), 4: around(0.2), 16: around(0.0, 0.2)}
    assert find(curve, where=Where.BELOW) == find(curve) == Crossing(None, 4.0, None)


def test_a_noisy_size_widens_the_interval():
    found = find({1: around(0.4), 4: around(0.02, 0.3), 16: around(-0.2), 64: around(-0.4)})
    assert (found.low, found.high) == (1.0, 16.0)


@pytest.mark.parametrize(
    ("by_size", "crossing"),
    [
        ({1: around(-0.4), 4: around(-0.4)}, Crossing(None, None, 1.0)),
        ({1: around(0.4), 4: around(0.4)}, Crossing(None, 4.0, None)),
        ({1: around(0.0, 0.2), 4: around(0.0, 0.2)}, None),
        ({1: (), 4: ()}, None),
    ],
)
def test_a_crossing_beyond_the_grid_is_an_open_end(by_size, crossing):
    assert find(by_size) == crossing


def test_two_changes_of_sign_are_no_crossing_in_between():
    """Times are not monotone in batch on every GPU: then the interval holds both."""
    found = find({1: around(0.4), 4: around(-0.2), 16: around(0.2), 64: around(-0.4)})
    assert (found.low, found.high) == (1.0, 64.0)


def test_a_point_needs_two_processes_in_a_steady_state():
    one = crossover(sizes=(1, 4))
    assert [point.size for point in curve(one, observed({1: (0.1,), 4: (0.1, 0.2)}).observations)] == [4]
    (point,) = curve(expectation(), observed({1: around(0.0, 0.1)}).observations)
    assert point.change.low < 1 < point.change.high
    assert (point.first_median, point.second_median) == (0.01, 0.02)


def test_a_broken_one_shows_its_curve_interval_and_what_was_expected():
    one = crossover(where=Where.ABOVE, ratio=1.5)
    by_size = {1: around(0.4), 4: around(0.2), 16: around(-0.2), 64: around(-0.2)}
    (result,) = judge([one], {one.id: observed(by_size)}).values()
    assert result.state is State.BROKEN
    text = " ".join(result.message.split())
    assert "expected was that a beats b at batch 64, at least 1.5 times" in text
    assert "because of physics (a test)" in text
    assert "they cross at batch 8 (4 to 16)" in text
    assert "batch a b a / b, 95 %" in text
    assert "16 10.00 ms 20.0 ms" in text.replace("10.0 ms", "10.00 ms")


def priced(sizes, first, second, processes=6, noise=0.01):
    """Observations of contenders that cost (fixed, per sample)."""
    found = {}
    for size in sizes:
        times = [
            (side[0] + side[1] * size) * (1 + noise * (-1) ** (process + size))
            for process in range(processes)
            for side in (first, second)
        ]
        pairs = list(zip(times[::2], times[1::2], strict=True))
        found[size] = tuple(Observation(n, math.log(a / b), a, b) for n, (a, b) in enumerate(pairs, 1))
    return found


def test_costs_say_why_the_curves_cross():
    sizes = (1, 8, 64, 512)
    first, second = costs(crossover(sizes=sizes), priced(sizes, (4e-3, 1e-6), (1e-4, 4e-5)))
    for cost, (fixed, per_sample) in ((first, (4e-3, 1e-6)), (second, (1e-4, 4e-5))):
        assert cost.fixed.value == pytest.approx(fixed, rel=0.05)
        assert cost.fixed.low < fixed < cost.fixed.high
        assert cost.per_sample.low < per_sample < cost.per_sample.high


def test_costs_are_part_of_a_broken_ones_message():
    sizes = (1, 8, 64)
    one = crossover(sizes=sizes, ratio=3.0)
    (result,) = judge([one], {one.id: Observed(priced(sizes, (2e-3, 1e-6), (1e-3, 1e-5)))}).values()
    assert result.state is State.BROKEN
    assert "a costs 2.000 ms" in result.message
    assert "a sample" in result.message


@pytest.mark.parametrize(
    "changes", [{"sizes": (1, 8)}, {"axis": Axis.UNITS}, {"metric": Metric.FIRST_CALL}, {"processes": 1}]
)
def test_costs_need_three_batches_of_steps_in_two_processes(changes):
    processes = changes.pop("processes", 6)
    sizes = changes.pop("sizes", (1, 8, 64))
    found = priced(sizes, (4e-3, 1e-6), (1e-4, 4e-5), processes)
    assert costs(crossover(sizes=sizes, **changes), found) is None
