"""What a step is bound by, where it is known: each class, and that nothing is said where nothing is clear."""

from __future__ import annotations

from dataclasses import replace

from perf.harness.why.bound import OF_PEAK, fixed_share, reason, reasons
from perf.harness.why.records import Bound, Peak, Transfer
from tests.harness.why.makers import costing, curve, who

PEAK = (Peak(1, "cpu", {"float32": 1e10}, None), Peak(2, "cpu", {"float32": 0.9e10}, None))


def test_the_loop_is_bound_by_launches_where_compiled_code_takes_less_than_half() -> None:
    loop = curve(who(), costing(1e-3, 1e-6))
    found = reason(loop, 1, [loop, curve(who("xla"), costing(2e-4, 1e-6))], ())
    assert found.bound is Bound.LAUNCHES
    assert found.number.startswith("4.98")
    assert found.meaning == "times what xla takes"


def test_where_compiled_code_takes_more_than_half_launches_and_call_cannot_be_told_apart() -> None:
    loop = curve(who(), costing(1e-3, 1e-6))
    assert reason(loop, 1, [loop, curve(who("xla"), costing(8e-4, 1e-6))], ()).bound is Bound.EITHER
    assert reason(loop, 1, [loop], ()).bound is Bound.EITHER


def test_a_fixed_cost_without_launches_is_that_of_a_call() -> None:
    cudnn = curve(who("cudnn", "gpu"), costing(1e-3, 1e-7))
    found = reason(cudnn, 256, [cudnn], ())
    assert (found.bound, found.number) == (Bound.CALL, "98 % 98–98")


def test_what_grows_with_the_batch_is_arithmetic() -> None:
    loop = curve(who(), costing(1e-3, 1e-4))
    found = reason(loop, 256, [loop], ())
    assert (found.bound, found.meaning) == (Bound.ARITHMETIC, "of it grows with the batch")
    assert reason(loop, 1, [loop], ()).bound is Bound.EITHER


def test_more_than_half_of_the_peak_is_arithmetic_whatever_the_line() -> None:
    one = curve(who(), {8: 1e-3}, flops=1e6)
    found = reason(one, 8, [one], PEAK)
    assert found.bound is Bound.ARITHMETIC
    assert (found.number, found.meaning) == ("80 % 79–81", OF_PEAK)


def test_a_call_that_takes_more_than_twice_its_bare_step_is_bound_by_keras() -> None:
    forward, predict = curve(who(), {1: 1e-3}), curve(who(path="predict"), {1: 3e-2})
    found = reason(predict, 1, [forward, predict], ())
    assert (found.bound, found.meaning) == (Bound.CALL, "times the bare forward")


def test_copies_that_take_more_than_half_bind_only_where_inputs_come_from_the_host() -> None:
    peaks = [Peak(process, "gpu", {}, Transfer(1e-4, 1e-3)) for process in (1, 2)]
    fit = curve(who("cudnn", "gpu", "fit"), {32: 1e-3}, bytes_=2**15)
    assert reason(fit, 32, [fit], peaks).bound is Bound.TRANSFER
    bare = curve(who("cudnn", "gpu", "backward"), {32: 1e-3}, bytes_=2**15)
    assert reason(bare, 32, [bare], peaks).bound is Bound.UNKNOWN
    slow = curve(who("cudnn", "gpu", "fit"), {32: 1e-2}, bytes_=2**15)
    assert reason(slow, 32, [slow], peaks).bound is Bound.UNKNOWN


def test_it_cannot_tell_where_the_interval_reaches_over_a_half() -> None:
    lines = {process: (1e-3 * (1 + 0.4 * (-1) ** process), 1e-3 / 32) for process in range(1, 7)}
    noisy = replace(curve(who(), costing(1e-3, 1e-3 / 32)), lines=lines)
    share = fixed_share(noisy, 32)
    assert share is not None
    assert share.low is not None
    assert share.high is not None
    assert share.low < 0.5 < share.high
    found = reason(noisy, 32, [noisy], ())
    assert (found.bound, found.meaning) == (Bound.UNKNOWN, "of it does not depend on the batch")


def test_a_line_that_starts_below_nothing_has_nothing_fixed() -> None:
    lines = {process: (-1e-5 * (-1) ** process, 1e-4) for process in range(1, 7)}
    found = fixed_share(replace(curve(who(), costing(1e-5, 1e-4)), lines=lines), 1)
    assert found is not None
    assert found.low == 0


def test_two_batches_and_no_peak_tell_nothing() -> None:
    two = curve(who(), costing(1e-3, 1e-6, (1, 32)))
    found = reason(two, 1, [two], ())
    assert (found.bound, found.number, found.share_of_peak) == (Bound.UNKNOWN, "", None)


def test_one_process_tells_nothing() -> None:
    loop, xla = curve(who(), {1: 1e-3}), curve(who("xla"), {1: 1e-4})
    for each in (loop, xla):
        each.seconds[1] = {1: each.seconds[1][1]}  # type: ignore[index]
    assert reason(loop, 1, [loop, xla], ()).bound is Bound.UNKNOWN


def test_it_speaks_of_what_keras_runs_by_itself() -> None:
    curves = [curve(who(kernel, device), costing(1e-3, 1e-5)) for kernel, device in (
        ("xla", "cpu"), ("loop", "cpu"), ("loop", "gpu"), ("cudnn", "gpu"),
    )]  # fmt: skip
    assert [(one.who.choice, one.batch) for one in reasons(curves, ())] == [
        (choice, batch) for choice in ("loop on cpu", "cudnn on gpu") for batch in (1, 32, 256)
    ]
