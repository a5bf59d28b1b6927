"""Curves, subjects and results made from a cost that is known, so that the right answer is too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perf.harness.costs import line
from perf.harness.records import Work
from perf.harness.why.curves import Curve, Source
from perf.harness.why.records import Subject, Who

PROCESSES = range(1, 7)


def who(kernel: str = "loop", device: str = "cpu", path: str = "forward", workload: str = "w") -> Who:
    return Who(workload, path, device, kernel, "float32")


def subject(of: Who, batch: int, flops: float | None = None, bytes_: float | None = None, **traits: str) -> Subject:
    named = {"path": of.path, "batch": str(batch), "device": of.device, "kernel": of.kernel, **traits}
    return Subject(of, batch, Work(named, "float32", flops, bytes_))


def noisy(seconds: float, spread: float = 0.01, processes: Sequence[int] = PROCESSES) -> dict[int, float]:
    """By process: alternately a little more and less. Two such have a ratio of their seconds with some spread."""
    return {process: seconds * (1 + spread * (-1) ** process) for process in processes}


def curve(
    of: Who,
    seconds: Mapping[int, float],
    *,
    spread: float = 0.01,
    flops: float | None = None,
    bytes_: float | None = None,
    source: Source = Source.EXPECTATIONS,
) -> Curve:
    """``seconds`` per step by batch; with cost lines from three batches on, as the real ones have."""
    by_batch = {batch: noisy(value, spread * (1 if of.kernel == "loop" else -1)) for batch, value in seconds.items()}
    batches = sorted(by_batch)
    lines = {p: line(batches, [by_batch[b][p] for b in batches]) for p in PROCESSES} if len(batches) > 2 else {}
    subjects = {batch: subject(of, batch, flops, bytes_) for batch in batches}
    return Curve(of, source, by_batch, subjects, lines)


def costing(fixed: float, per_sample: float, batches: Sequence[int] = (1, 32, 256)) -> dict[int, float]:
    return {batch: fixed + per_sample * batch for batch in batches}
