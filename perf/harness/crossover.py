"""What was measured against what was expected: curves, crossings, and the decision over all expectations. Pure.

Each expectation makes one assertion or several, each a number per process that is above 0 where the promise is not
kept: ln(first / second) + ln(ratio), or what its kind makes of it. The unit of replication is the process (or the pair
of them): rounds inside are never counted as n.

An assertion is *broken* where its mean is above ln(1 + margin) beyond chance: one-sided t over the processes, Holm's
procedure at .05 over all assertions of the session. It *holds* where its 95 % interval is wholly below 0, is *inside
the band* where the interval lies within ln(1 + margin) of 0 on both sides, and else too noisy to say. An expectation
is what the worst of its assertions is.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from perf.harness.costs import costs
from perf.harness.expectation_message import message
from perf.harness.expectation_records import (
    Crossing,
    CurvePoint,
    Expectation,
    ExpectationResult,
    Kind,
    Observation,
    Observed,
    State,
    Where,
)
from perf.harness.records import Change
from perf.harness.stats import holm, t_quantile, upper_tail

LEVEL = 0.05
#: A crossover is asserted outside this factor around its size only.
BAND = 2.0
#: How far beyond its ratio a promise must be missed.
MARGIN = 0.05
MIN_PROCESSES = 4
#: Equal differences are a clock (or a page) too coarse to differ, never a proof.
_SMALLEST_SD = 1e-4
#: From the worst to the best, as the assertions of one expectation are summed up.
_WORST_FIRST = (State.BROKEN, State.NOISY, State.IN_BAND, State.HOLDS)


@dataclass(frozen=True, slots=True)
class Assertion:
    """One number per process, above 0 where the promise is not kept. ``what`` is said of it: ``at batch 64``."""

    what: str
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    def half_width(self, level: float = 1 - LEVEL) -> float:
        return t_quantile((1 + level) / 2, len(self.values) - 1) * self._standard_error

    def p_value(self) -> float:
        """One-sided, of the promise being missed by no more than the margin."""
        return upper_tail((self.mean - math.log1p(MARGIN)) / self._standard_error, len(self.values) - 1)

    @property
    def enough(self) -> bool:
        return len(self.values) >= MIN_PROCESSES

    def state(self, rejected: bool) -> State:
        if not self.enough:
            return State.NOISY
        if rejected:
            return State.BROKEN
        low, high = self.mean - self.half_width(), self.mean + self.half_width()
        if high <= 0:
            return State.HOLDS
        margin = math.log1p(MARGIN)
        return State.IN_BAND if -margin <= low and high <= margin else State.NOISY

    @property
    def _standard_error(self) -> float:
        return max(statistics.stdev(self.values), _SMALLEST_SD) / math.sqrt(len(self.values))


def judge(expectations: Sequence[Expectation], observed: Mapping[str, Observed]) -> dict[str, ExpectationResult]:
    """The result of each of the ``expectations``, judged together; ``observed`` lacks those that are skipped."""
    asserted = {
        expectation.id: assertions(expectation, observed[expectation.id].observations)
        for expectation in expectations
        if expectation.id in observed
    }
    rejected = holm(
        {
            (id, assertion.what): assertion.p_value()
            for id, found in asserted.items()
            for assertion in found
            if assertion.enough
        },
        LEVEL,
    )
    return {
        expectation.id: _result(expectation, observed.get(expectation.id), asserted.get(expectation.id, ()), rejected)
        for expectation in expectations
    }


def _result(
    expectation: Expectation,
    observed: Observed | None,
    asserted: Sequence[Assertion],
    rejected: Mapping[tuple[str, str], float],
) -> ExpectationResult:
    if observed is None:
        return ExpectationResult(expectation, State.SKIPPED, f"{expectation.id}: skipped: {expectation.skip}")
    if expectation.kind is Kind.OBSERVED:
        state = State.UNFINISHED if observed.unfinished else State.OBSERVED
    else:
        state = min((each.state((expectation.id, each.what) in rejected) for each in asserted), key=_WORST_FIRST.index)
    if observed.failure is not None:
        state = State.FAILED
    elif observed.unfinished and state is State.NOISY and not all(each.enough for each in asserted):
        state = State.UNFINISHED
    result = ExpectationResult(
        expectation,
        state,
        curve=curve(expectation, observed.observations),
        crossing=find_crossing(expectation, observed.observations) if expectation.may_cross else None,
        failure=observed.failure,
        costs=costs(expectation, observed.observations),
    )
    return replace(result, message=message(result))


def assertions(expectation: Expectation, observations: Mapping[int, Sequence[Observation]]) -> tuple[Assertion, ...]:
    """What the expectation asserts, of the processes in which both contenders came to a steady state; nothing where
    it promises nothing."""
    if expectation.kind is Kind.OBSERVED:
        return ()
    limit = math.log(expectation.ratio)
    axis = expectation.axis
    steady = {size: [one for one in found if one.steady] for size, found in observations.items()}
    if expectation.kind is Kind.NARROWING:
        small, large = expectation.sizes[0], expectation.sizes[-1]
        later = {one.process: one.log_ratio for one in steady[large]}
        values = [limit + one.log_ratio - later[one.process] for one in steady[small] if one.process in later]
        return (Assertion(f"from {axis} {small} to {large}", tuple(values)),)
    found = []
    for size in asserted_sizes(expectation):
        ratios = [one.log_ratio for one in steady[size]]
        if expectation.kind is Kind.EQUAL:
            for name, sign in ((expectation.first.label, 1), (expectation.second.label, -1)):
                what = f"{name} is no slower at {axis} {size}"
                found.append(Assertion(what, tuple(sign * ratio - limit for ratio in ratios)))
        else:
            found.append(Assertion(f"at {axis} {size}", tuple(ratio + limit for ratio in ratios)))
    return tuple(found)


def asserted_sizes(expectation: Expectation) -> tuple[int, ...]:
    """The sizes at which the promise is made: those outside the band around ``at``, or the end of the grid."""
    sizes, at = expectation.sizes, expectation.at
    if expectation.where is Where.EVERYWHERE:
        return sizes
    if expectation.where is Where.ABOVE:
        return sizes[-1:] if at is None else tuple(size for size in sizes if size >= BAND * at)
    return sizes[:1] if at is None else tuple(size for size in sizes if size <= at / BAND)


def curve(expectation: Expectation, observations: Mapping[int, Sequence[Observation]]) -> tuple[CurvePoint, ...]:
    """A point for each size that at least two processes measured to a steady state."""
    points = []
    for size in expectation.sizes:
        steady = [one for one in observations[size] if one.steady]
        if len(steady) < 2:
            continue
        ratios = tuple(one.log_ratio for one in steady)
        spread = Assertion("", ratios)
        mean, half = spread.mean, spread.half_width()
        change = Change(math.exp(mean), math.exp(mean - half), math.exp(mean + half), 1 - LEVEL)
        first, second = (
            statistics.median(values) for values in zip(*((o.first, o.second) for o in steady), strict=True)
        )
        points.append(CurvePoint(size, change, first, second, ratios))
    return tuple(points)


def find_crossing(expectation: Expectation, observations: Mapping[int, Sequence[Observation]]) -> Crossing | None:
    """Where the first contender begins to win, or ceases to where it is to win below; where nothing is known of that,
    the other way round.

    The estimate is the median over processes of each one's own crossing, found by linear interpolation in the
    logarithm of the size. The interval runs from the last size before which every 95 % interval lies on the one side
    to the first after which every one lies on the other: nothing is fitted, and nothing has to be monotone. ``None``
    where nothing is known of either end.
    """
    points = curve(expectation, observations)
    falling = _one_way(points, observations, 1.0), _one_way(points, observations, -1.0)
    expected, turned = reversed(falling) if expectation.where is Where.BELOW else falling
    return expected or turned


def _one_way(
    points: Sequence[CurvePoint], observations: Mapping[int, Sequence[Observation]], sign: float
) -> Crossing | None:
    """The crossing of a curve that falls (``sign`` 1) or rises (-1) through equality."""
    intervals = [(point.change.low, point.change.high) if sign > 0 else _turned(point.change) for point in points]
    before = len(list(itertools.takewhile(lambda ends: ends[0] > 1, intervals)))
    after = len(list(itertools.takewhile(lambda ends: ends[1] < 1, reversed(intervals))))
    if not before and not after:
        return None
    sizes = [point.size for point in points]
    own = [_crossing(sizes, [sign * ratio for ratio in ratios]) for ratios in _by_process(sizes, observations)]
    middle = statistics.median(own) if own else math.nan
    return Crossing(
        estimate=math.exp(middle) if math.isfinite(middle) else None,
        low=float(sizes[before - 1]) if before else None,
        high=float(sizes[len(sizes) - after]) if after else None,
    )


def _turned(change: Change) -> tuple[float, float]:
    """The interval of second / first."""
    return 1 / change.high, 1 / change.low


def _by_process(sizes: Sequence[int], observations: Mapping[int, Sequence[Observation]]) -> list[tuple[float, ...]]:
    """The curve of each process that measured all ``sizes``."""
    by_size = [{one.process: one.log_ratio for one in observations[size] if one.steady} for size in sizes]
    whole = set.intersection(*(set(found) for found in by_size))
    return [tuple(found[process] for found in by_size) for process in sorted(whole)]


def _crossing(sizes: Sequence[int], values: Sequence[float]) -> float:
    """ln(size) at which a falling curve passes 0, infinite beyond either end.

    Where noise takes it through 0 several times: the middle between the first and the last.
    """
    logs = [math.log(size) for size in sizes]
    found = [
        a + (b - a) * before / (before - after)
        for (a, before), (b, after) in itertools.pairwise(zip(logs, values, strict=True))
        if (before > 0) != (after > 0)
    ]
    if values[-1] > 0:
        return math.inf
    return (found[0] + found[-1]) / 2 if found else -math.inf
