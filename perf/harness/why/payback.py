"""What is paid before the first step, and from how many steps on the faster choice has earned it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perf.harness.costs import estimate
from perf.harness.records import CaseResult, Sample
from perf.harness.stats import Estimate
from perf.harness.why.records import Payback, Subject


def paybacks(
    results: Sequence[CaseResult], subjects: Mapping[str, Subject], startup_seconds: Mapping[str, Sequence[float]]
) -> tuple[Payback, ...]:
    """Of every two cases that do the same work at the same batch; whichever is faster per step is ``fast``."""
    known = [
        (subjects[result.spec.key], _by_process(result))
        for result in results
        if result.failure is None and result.spec.key in subjects
    ]
    found = []
    for index, (first, of_first) in enumerate(known):
        for second, of_second in known[index + 1 :]:
            if (first.who.where, first.batch) != (second.who.where, second.batch):
                continue
            if one := payback((first, of_first), (second, of_second), startup_seconds):
                found.append(one)
    return tuple(found)


def payback(
    first: tuple[Subject, Mapping[int, Sample]],
    second: tuple[Subject, Mapping[int, Sample]],
    startup_seconds: Mapping[str, Sequence[float]],
) -> Payback | None:
    """``None`` for fewer than two processes that measured both.

    Steps = extra seconds / seconds gained per step, each a mean over processes of the difference within a process. The
    interval divides the ends of both 95 % intervals, so it holds at least 90 % of the time. Start-up counts only where
    the two cannot run in one process, since their devices differ.
    """
    shared = [process for process in first[1] if process in second[1]]
    if len(shared) < 2:
        return None
    gains = [second[1][process].seconds_per_step - first[1][process].seconds_per_step for process in shared]
    if sum(gains) < 0:
        return payback(second, first, startup_seconds)
    (fast, of_fast), (slow, of_slow) = first, second
    extras = [of_fast[process].first_call_seconds - of_slow[process].first_call_seconds for process in shared]
    extra, gain = estimate(extras), estimate(gains)
    if fast.who.device != slow.who.device:
        startups = [startup_seconds.get(one.who.device, ()) for one in (fast, slow)]
        if any(len(seconds) < 2 for seconds in startups):
            return None
        extra = _less(_plus(extra, estimate(startups[0])), estimate(startups[1]))
    return Payback(fast.who, slow.who, fast.batch, extra, gain, _steps(extra, gain))


def _by_process(result: CaseResult) -> dict[int, Sample]:
    return {sample.process: sample for sample in result.samples if sample.steady}


def _steps(extra: Estimate, gain: Estimate) -> Estimate | None:
    assert extra.low is not None
    assert extra.high is not None
    assert gain.low is not None
    assert gain.high is not None
    if gain.low <= 0 or extra.low <= 0:
        return None
    return Estimate(extra.value / gain.value, extra.low / gain.high, extra.high / gain.low)


def _plus(a: Estimate, b: Estimate) -> Estimate:
    """Of independent estimates: half widths add as their squares do."""
    half = ((_half(a) ** 2) + (_half(b) ** 2)) ** 0.5
    value = a.value + b.value
    return Estimate(value, value - half, value + half)


def _less(a: Estimate, b: Estimate) -> Estimate:
    half = _half(b)
    return _plus(a, Estimate(-b.value, -b.value - half, -b.value + half))


def _half(estimate_: Estimate) -> float:
    assert estimate_.low is not None
    assert estimate_.high is not None
    return (estimate_.high - estimate_.low) / 2
