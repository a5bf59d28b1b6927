"""Small constructors of expectations and of what was observed of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perf.harness.expectation_records import Axis, Contender, Expectation, Kind, Observation, Observed, Where
from perf.harness.paired_evidence import Metric


def contender(label: str, sizes: Sequence[int], device: str = "cpu", **variables: str) -> Contender:
    """Its case at size 8 is ``label-8``."""
    return Contender(label, device, {size: f"{label}-{size}" for size in sizes}, variables)


def expectation(id: str = "a-beats-b", sizes: Sequence[int] = (1,), **changes: Any) -> Expectation:
    fields: dict[str, Any] = {
        "id": id,
        "kind": Kind.ORDERING,
        "metric": Metric.STEP,
        "axis": Axis.BATCH,
        "workload": "w",
        "path": "forward",
        "first": contender("a", sizes),
        "second": contender("b", sizes),
        "sizes": tuple(sizes),
        "where": Where.EVERYWHERE,
        "at": None,
        "ratio": 1.0,
        "reason": "of physics",
        "source": "a test",
    }
    return Expectation(**{**fields, **changes})


def crossover(sizes: Sequence[int] = (1, 4, 16, 64), **changes: Any) -> Expectation:
    return expectation(sizes=sizes, **{"kind": Kind.CROSSOVER, "where": Where.ABOVE, **changes})


def observed(by_size: Mapping[int, Sequence[float]], **changes: Any) -> Observed:
    """``by_size``: ln(first / second) of each process."""
    found = {
        size: tuple(
            Observation(process, ratio, 0.01, 0.02, changes.get("steady", True))
            for process, ratio in enumerate(ratios, 1)
        )
        for size, ratios in by_size.items()
    }
    return Observed(found, changes.get("failure"), changes.get("unfinished", False))


def around(mean: float, spread: float = 0.01, count: int = 6) -> tuple[float, ...]:
    return tuple(round(mean + spread * (-1) ** index, 6) for index in range(count))
