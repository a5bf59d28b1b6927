"""What an expectation says, and what was found of it: frozen records of plain values.

An expectation promises that one contender beats another, with the reason why it should on any machine. It is data: the
suite makes it (:mod:`perf.expectations`, or a user's file), the harness measures and judges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from perf.harness.paired_evidence import Metric
from perf.harness.records import Change, Failure
from perf.harness.stats import Estimate


class Kind(StrEnum):
    """What is promised of the two contenders."""

    CROSSOVER = "crossover"  # the first wins on one side of a size
    ORDERING = "ordering"  # the first wins
    EQUAL = "equal"  # neither is slower by more than the ratio
    NARROWING = "narrowing"  # the first's lead is larger at the smallest size than at the largest
    OBSERVED = "observed"  # nothing: the ratio is what is asked for


class Axis(StrEnum):
    """Along what the sizes run."""

    BATCH = "batch"
    UNITS = "units"
    TIMESTEPS = "timesteps"


class Where(StrEnum):
    """At which of the sizes the promise holds."""

    ABOVE = "above"
    BELOW = "below"
    EVERYWHERE = "everywhere"


class State(StrEnum):
    """What was found of an expectation. Only the first two make its test fail."""

    BROKEN = "broken"
    FAILED = "failed"  # a contender could not be measured
    NOISY = "too noisy to say"
    IN_BAND = "inside the band"  # so close to what was promised that neither holds nor is broken
    HOLDS = "holds"
    OBSERVED = "observed"  # nothing was promised
    UNFINISHED = "not measured"  # the budget ended first
    SKIPPED = "skipped"

    @property
    def is_red(self) -> bool:
        """The expectation's test fails."""
        return self in (State.BROKEN, State.FAILED)

    @property
    def is_stated(self) -> bool:
        """Whether there is something that its test can say."""
        return self not in (State.UNFINISHED, State.SKIPPED)


@dataclass(frozen=True, slots=True)
class Contender:
    """One side of an expectation: ``label`` is shown, ``cases`` maps each size to the key of the case that stands for
    it, all on one ``device``; its workers run with ``variables`` besides (``None`` unsets one)."""

    label: str
    device: str
    cases: Mapping[int, str]
    variables: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expectation:
    """``first`` beats ``second``, ``where`` it is said to, by at least ``ratio`` (>= 1; for ``equal`` the ratio that
    is allowed either way; for ``narrowing`` the one by which the lead at the smallest size exceeds the last).

    ``sizes`` are the grid, ascending. ``at`` is the size of a crossover that is above or below it; ``None``: the
    promise is made for the end of the grid only. ``skip``: why it cannot be measured on this host.
    """

    id: str  # of the test: stable, short
    kind: Kind
    metric: Metric
    axis: Axis
    workload: str
    path: str  # "forward", or "forward, predict" where the contenders differ in it
    first: Contender
    second: Contender
    sizes: tuple[int, ...]
    where: Where
    at: int | None
    ratio: float
    reason: str  # one line, physical
    source: str  # one line
    skip: str | None = None

    @property
    def promise(self) -> str:
        """In words: ``xla beats loop at batch 1, at least 1.5 times``."""
        first, second, times = self.first.label, self.second.label, f"{self.ratio:g} times"
        if self.kind is Kind.OBSERVED:
            return f"{first} against {second}"
        if self.kind is Kind.EQUAL:
            return f"{first} and {second} are equal within {times}"
        if self.kind is Kind.NARROWING:
            return (
                f"the lead of {first} over {second} is at least {times} as large at {self.axis} {self.sizes[0]} as at "
                f"{self.sizes[-1]}"
            )
        least = f", at least {times}" if self.ratio > 1 else ""
        return f"{first} beats {second}{self._place}{least}"

    @property
    def may_cross(self) -> bool:
        """Whether it is asked where the curves of the two meet."""
        return self.kind is Kind.CROSSOVER or (self.kind is Kind.OBSERVED and len(self.sizes) > 1)

    @property
    def _place(self) -> str:
        if self.kind is Kind.CROSSOVER and self.at is not None:
            return f" {self.where} {self.axis} {self.at}"
        if self.where is Where.ABOVE:
            return f" at {self.axis} {self.sizes[-1]}"
        if self.where is Where.BELOW or len(self.sizes) == 1:
            return f" at {self.axis} {self.sizes[0]}"
        return f" at {self.axis} {self.sizes[0]} to {self.sizes[-1]}"


@dataclass(frozen=True, slots=True)
class Observation:
    """Both contenders at one size in one process: seconds per step, seconds of the first call, or bytes.

    ``log_ratio`` is ln(first / second), of rounds that ran next to each other their median.
    """

    process: int
    log_ratio: float
    first: float
    second: float
    steady: bool = True


@dataclass(frozen=True, slots=True)
class Observed:
    """What was measured of one expectation: observations by size, and why it has none or too few."""

    observations: Mapping[int, tuple[Observation, ...]]
    failure: Failure | None = None
    unfinished: bool = False  # the budget ended before all processes


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Both contenders at one size, over at least two processes (or pairs of them).

    ``change``: first / second with its 95 % t interval over the processes. ``first_median`` and ``second_median`` are
    the medians over processes, seconds per step, seconds of the first call, or bytes. ``log_ratios``:
    ln(first / second), one per process, from which all of it can be judged again.
    """

    size: int
    change: Change
    first_median: float
    second_median: float
    log_ratios: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Crossing:
    """Where the curves meet, in sizes of the axis; ``None``: outside the grid, an open end.

    ``low`` is the last size before which the one, ``high`` the first after which the other is faster beyond chance.
    """

    estimate: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What a contender's step costs: ``fixed`` seconds and ``per_sample`` seconds, each with its 95 % interval."""

    fixed: Estimate
    per_sample: Estimate


@dataclass(frozen=True, slots=True)
class ExpectationResult:
    """``message`` is for a person: what was expected, what was found, and of a broken one the curve as a small table.

    ``crossing`` is ``None`` where none was looked for (not a crossover), or nothing is known of it. ``costs``, of the
    first and the second, are why they cross; ``None`` where the curve does not run along the batch.
    """

    expectation: Expectation
    state: State
    message: str = ""
    curve: tuple[CurvePoint, ...] = ()
    crossing: Crossing | None = None
    failure: Failure | None = None
    costs: tuple[Cost, Cost] | None = None
