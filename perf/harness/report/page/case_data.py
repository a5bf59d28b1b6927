"""What is shown of a case, as frozen records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from perf.harness.records import Change
from perf.harness.stats import Estimate


class Tone(StrEnum):
    """How a state is painted. Never alone: its word and its sign stand beside it."""

    RED = "red"
    OPEN = "open"  # undecided, or to be looked at
    GOOD = "good"
    CALM = "calm"


@dataclass(frozen=True, slots=True)
class State:
    """A verdict, or what else became of a case: ``▲ regressed``."""

    word: str
    sign: str
    tone: Tone


@dataclass(frozen=True, slots=True)
class ProcessRounds:
    """Seconds per step of every round that one process timed."""

    process: int
    seconds_per_step: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SideView:
    """What was measured of a case on one side.

    Estimates are medians with their 95 % interval over ``replicates`` (processes, or runs of a baseline); that of
    ``bytes_peak`` is the range. ``percentiles`` are of single calls.
    """

    name: str
    replicates: str
    kernels: tuple[str, ...]
    seconds_per_step: Estimate
    first_call_seconds: Estimate
    bytes_peak: Estimate | None
    percentiles: Mapping[int, Estimate]
    processes: tuple[ProcessRounds, ...]


@dataclass(frozen=True, slots=True)
class MetricView:
    """What was decided of one metric; ``ratios`` are those of the pairs that decided, where it was paired."""

    metric: str
    state: State
    change: Change | None
    smallest_visible: float | None
    ratios: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseView:
    """One case. ``name`` is short, among these cases; ``sides`` end with what was measured now."""

    key: str
    name: str
    path: str
    workload: str
    batch: int
    device: str
    kernel: str
    precision: str
    state: State
    reason: str
    metrics: tuple[MetricView, ...]
    sides: tuple[SideView, ...]
    informs: tuple[str, ...] = ()

    @property
    def step(self) -> MetricView | None:
        """What was decided of the time per step."""
        return self.metrics[0] if self.metrics else None

    @property
    def now(self) -> SideView | None:
        return self.sides[-1] if self.sides else None
