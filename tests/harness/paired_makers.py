"""Small constructors of paired records."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from perf.harness.paired_records import BASELINE, CANDIDATE, PairedResult, PairSample, SideName
from perf.harness.records import Environment
from tests.harness.makers import environment, sample, spec


def pair(
    difference: float = 0.0,
    number: int = 1,
    *,
    seconds: float = 0.01,
    baseline: Mapping[str, Any] = {},
    candidate: Mapping[str, Any] = {},
) -> PairSample:
    """A pair whose candidate takes exp(``difference``) times as long; ``baseline`` and ``candidate`` change a side."""
    return PairSample(
        number,
        BASELINE if number % 2 else CANDIDATE,
        sample(seconds, number, **baseline),
        sample(seconds * math.exp(difference), number, **candidate),
    )


def paired(differences: Sequence[float] = (0.0,) * 6, number: int = 0, **changes: Any) -> PairedResult:
    """A case with one pair per difference; other changes go to each pair."""
    pairs = tuple(pair(difference, index, **changes) for index, difference in enumerate(differences, 1))
    return PairedResult(spec(number), pairs)


def around(mean: float, spread: float = 0.01, count: int = 6) -> tuple[float, ...]:
    """``count`` differences with this mean and about this sd, always the same."""
    return tuple(mean + spread * (-1) ** index for index in range(count))


def environments(baseline: str = "2.20.0", candidate: str = "2.21.0") -> dict[tuple[SideName, str], Environment]:
    return {(BASELINE, "cpu"): environment(baseline), (CANDIDATE, "cpu"): environment(candidate)}
