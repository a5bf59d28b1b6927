"""Each factor changed alone, and none where two things differ."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from perf.harness.crossover import judge
from perf.harness.expectation_records import Contender, ExpectationResult, Kind
from perf.harness.paired_evidence import Metric
from perf.harness.stats import Estimate
from perf.harness.why.curves import curves
from perf.harness.why.factors import NAMED, effects, not_measured
from perf.harness.why.records import TRANSFER, Copied, Effect, Subject
from tests.harness.expectation_makers import around, expectation, observed
from tests.harness.why.makers import costing, curve, subject, who

HALF = -0.6931  # ln of first / second


def found(
    first: Subject, second: Subject, ratio: float = HALF, variables: Mapping[str, str] | None = None, **changes: object
) -> tuple[Effect, ...]:
    """The effects of one observed pair."""
    made = expectation(
        kind=Kind.OBSERVED,
        first=Contender("a", "cpu", {1: "first"}, variables or {}),
        second=Contender("b", "cpu", {1: "second"}),
        **changes,
    )
    results: Mapping[str, ExpectationResult] = judge([made], {made.id: observed({1: around(ratio)})})
    return effects(tuple(results.values()), (), {"first": first, "second": second})


def test_one_trait_that_differs_is_the_factor() -> None:
    (one,) = found(subject(who("xla"), 1), subject(who(), 1))
    assert (one.factor, one.before, one.after, one.on) == ("kernel", "loop", "xla", "forward w-b1 cpu")
    assert one.change.ratio == pytest.approx(0.5, abs=0.01)
    assert one.change.low < 0.5 < one.change.high


@pytest.mark.parametrize("turned", [False, True])
def test_numbers_go_upwards(turned: bool) -> None:
    small, large = (subject(who(), 1, **{"network size": f"1 x {units} units"}) for units in (9, 10))
    (one,) = found(large, small, -HALF) if turned else found(small, large)
    assert (one.before, one.after) == ("1 x 9 units", "1 x 10 units")
    assert one.change.ratio == pytest.approx(2, abs=0.05)
    assert one.change.low < one.change.ratio < one.change.high


@pytest.mark.parametrize(
    ("name", "factor"),
    [("TF_NUM_INTRAOP_THREADS", "threads"), ("TF_ENABLE_ONEDNN_OPTS", "oneDNN"), ("TF_OTHER", "TF_OTHER")],
)
def test_a_variable_is_a_factor(name: str, factor: str) -> None:
    (one,) = found(subject(who(), 1), subject(who(), 1), variables={name: "1"})
    assert (one.factor, one.before, one.after) == (factor, "default", f"{name}=1")


def test_two_things_that_differ_isolate_nothing() -> None:
    assert found(subject(who("xla"), 1), subject(who(), 32)) == ()
    assert found(subject(who("xla"), 1), subject(who(), 1), variables={"TF_OTHER": "1"}) == ()
    assert found(subject(who("auto"), 1), subject(who(), 1)) == ()
    assert found(subject(who("xla"), 1), subject(who(), 1), metric=Metric.FIRST_CALL) == ()


def test_another_device_may_have_another_kernel() -> None:
    (one,) = found(subject(who("cudnn", "gpu"), 1), subject(who(), 1))
    assert (one.factor, one.before, one.after) == ("device", "loop on cpu", "cudnn on gpu")


def test_inputs_on_the_host_are_the_factor_transfer() -> None:
    """Named by the case that has them only."""
    (one,) = found(subject(who(), 1), subject(who(), 1, **{TRANSFER: "inputs on the host"}))
    assert (one.factor, one.before, one.after) == ("transfer", "inputs on the host", "inputs on the device")
    assert one.change.ratio == pytest.approx(0.5, abs=0.01)


def test_inputs_on_the_host_are_in_no_curve() -> None:
    """Nobody chooses between kernels by where the inputs of one of them lay."""
    made = expectation(
        kind=Kind.OBSERVED,
        first=Contender("a", "cpu", {1: "device"}, {}),
        second=Contender("b", "cpu", {1: "host"}),
    )
    subjects = {"device": subject(who(), 1), "host": subject(who(), 1, **{TRANSFER: "inputs on the host"})}
    (only,) = curves(subjects, (), [(made, observed({1: around(HALF)}))])
    assert list(only.subjects.values()) == [subjects["device"]]


def test_a_curve_shows_the_batch() -> None:
    (one,) = effects((), (curve(who(), costing(1e-3, 1e-5)),), {})
    assert (one.factor, one.before, one.after) == ("batch", "1", "256")
    assert one.change.ratio == pytest.approx((1e-3 + 256e-5) / (1e-3 + 1e-5))


def test_what_nothing_isolated_is_named() -> None:
    measured = found(subject(who("xla"), 1), subject(who(), 1))
    assert set(not_measured(measured, ())) == set(NAMED) - {"kernel"}
    copied = Copied(who(), 1, Estimate(0.1, None, None))
    assert set(not_measured(measured, [copied])) == set(NAMED) - {"kernel", "transfer"}
