"""What a paired measurement hands on: rounds of two sides that ran next to each other."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import Final, Literal

from perf.harness.records import CaseSpec, Environment, Failure, Sample

SideName = Literal["baseline", "candidate"]
BASELINE: Final[SideName] = "baseline"
CANDIDATE: Final[SideName] = "candidate"
SIDES: Final[tuple[SideName, ...]] = (BASELINE, CANDIDATE)


def other(side: SideName) -> SideName:
    return CANDIDATE if side == BASELINE else BASELINE


@dataclass(frozen=True, slots=True)
class PairSample:
    """All timed rounds of one case in one pair of processes.

    Round i of one side ran next to round i of the other, with as many steps. ``first`` is the side whose process was
    started first and that began: rounds went first, other, other, first, and so on.
    """

    pair: int
    first: SideName
    baseline: Sample
    candidate: Sample

    def side(self, name: SideName) -> Sample:
        return self.baseline if name == BASELINE else self.candidate

    @property
    def log_ratio(self) -> float:
        """Median over the rounds of ln(candidate's / baseline's time per step) (METHOD: d)."""
        both = zip(self.candidate.seconds_per_round, self.baseline.seconds_per_round, strict=True)
        return statistics.median(math.log(ours / theirs) for ours, theirs in both)

    @property
    def steady(self) -> bool:
        return self.baseline.steady and self.candidate.steady


@dataclass(frozen=True, slots=True)
class PairedResult:
    """What one paired measurement found for one case.

    ``failed_side`` is the side that failed, ``None`` where it was both or neither. ``not_comparable`` says what one
    side cannot do; such a case has no failure. Pairs that were measured before either are kept.
    """

    spec: CaseSpec
    pairs: tuple[PairSample, ...]
    failure: Failure | None = None
    failed_side: SideName | None = None
    not_comparable: str | None = None


@dataclass(frozen=True, slots=True)
class PairedMeasured:
    """What one paired measuring stage found.

    ``results`` has every case that is not skipped; where the budget ran out they may lack pairs, and ``unfinished``
    names them. ``environments`` and ``startup_seconds`` (one for each start) are by side and device.
    """

    results: dict[str, PairedResult]
    environments: dict[tuple[SideName, str], Environment]
    startup_seconds: dict[tuple[SideName, str], tuple[float, ...]]
    unfinished: tuple[str, ...]
    seed: int
    seconds: float
