"""The peak: what a worker may answer, and what a step reaches of it."""

from __future__ import annotations

from typing import Any

import pytest

from perf.harness.replies import CaseError
from perf.harness.why.peak import ask_peak, rates, share_of_peak, share_of_transfer
from perf.harness.why.records import Peak, Transfer
from tests.harness.why.makers import subject, who

GOOD: dict[str, Any] = {
    "flops_per_second": {"float32": 1e12},
    "transfer": {"fixed_seconds": 0.0, "seconds_per_mib": 1e-4},
}


def answering(**changes: Any) -> Any:
    return lambda op: {**GOOD, **changes}


def test_a_good_answer_is_taken() -> None:
    found = ask_peak(answering(), 2, "gpu")
    assert found == Peak(2, "gpu", {"float32": 1e12}, Transfer(0.0, 1e-4))
    assert ask_peak(answering(transfer=None), 1, "cpu").transfer is None


@pytest.mark.parametrize(
    "changes",
    [
        {"flops_per_second": None},
        {"flops_per_second": {"float32": 0}},
        {"flops_per_second": {"float32": float("nan")}},
        {"flops_per_second": {"float32": True}},
        {"transfer": 3},
        {"transfer": {"fixed_seconds": 0.0}},
        {"transfer": {"fixed_seconds": -1.0, "seconds_per_mib": 1.0}},
    ],
)
def test_nonsense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(CaseError, match="makes no sense"):
        ask_peak(answering(**changes), 1, "gpu")


def test_rates_have_their_interval_over_processes() -> None:
    found = rates([Peak(1, "cpu", {"float32": 1e9}, None), Peak(2, "cpu", {"float32": 1.1e9}, None)])
    estimate = found["cpu", "float32"]
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < estimate.value < estimate.high


def test_a_share_is_held_against_the_best_of_the_same_device_and_precision() -> None:
    peaks = [Peak(1, "cpu", {"float32": 1e9, "float16": 1e12}, None), Peak(2, "cpu", {"float32": 2e9}, None)]
    peaks.append(Peak(1, "gpu", {"float32": 1e15}, None))
    found = share_of_peak(subject(who(), 10, flops=1e5), {1: 1e-3, 2: 1e-3}, peaks)
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert share_of_peak(subject(who(), 10), {1: 1e-3}, peaks) is None
    assert share_of_peak(subject(who(), 10, flops=1e5), {1: 1e-3}, []) is None


def test_a_copy_has_a_fixed_and_a_growing_part() -> None:
    peaks = [Peak(1, "gpu", {}, Transfer(1e-4, 1e-3))]
    found = share_of_transfer(subject(who(device="gpu"), 32, bytes_=2**15), {1: 1.1e-2, 2: 1.1e-2}, peaks)
    assert found is not None
    assert found.value == pytest.approx(0.1)
    assert share_of_transfer(subject(who(), 32, bytes_=2**15), {1: 1e-2}, peaks) is None
