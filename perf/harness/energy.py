"""Energy of cases, and where a GPU begins to need less of it than the CPU. Pure; derived from what samples hold."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perf.harness.conditions import Counter
from perf.harness.records import CaseResult, Sample


@dataclass(frozen=True, slots=True)
class EnergyCrossing:
    """The least energy per sample of each device, of one kind of work along its batch sizes.

    ``cpu`` and ``gpu`` are medians over processes, by batch, in joules; ``kernels`` those that needed them, (cpu, gpu).
    ``crossings`` are the batches at which the two are equal, one for each process, ``inf`` where the GPU never needs
    less and 0 where it always does.
    """

    path: str
    workload: str
    precision: str
    cpu: Mapping[int, float]
    gpu: Mapping[int, float]
    kernels: Mapping[int, tuple[str, str]]
    crossings: tuple[float, ...]


def counted_per_step(sample: Sample, counter: Counter) -> float | None:
    """Joules, the mean over the rounds; ``None`` where they were not counted, or the counter stood still."""
    for one in sample.conditions.energy if sample.conditions else ():
        if one.counter is counter and one.joules > 0:
            return one.joules / (one.rounds * sample.steps_per_round)
    return None


def joules_per_step(sample: Sample, device: str) -> float | None:
    """Of all that works for a case: the CPUs, and for one on a GPU its board too; ``None`` unless all is counted."""
    parts = [counted_per_step(sample, counter) for counter in _at_work(device)]
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _at_work(device: str) -> tuple[Counter, ...]:
    return (Counter.GPU, Counter.CPU) if device == "gpu" else (Counter.CPU,)


def crossings(results: Mapping[str, CaseResult]) -> tuple[EnergyCrossing, ...]:
    """One for each kind of work that both devices were measured at, at two batch sizes or more."""
    works: dict[tuple[str, str, str], dict[int, dict[str, list[CaseResult]]]] = {}
    for result in results.values():
        if result.failure is None and _per_sample(result):
            spec = result.spec
            batches = works.setdefault((spec.path, spec.workload, spec.precision), {})
            batches.setdefault(spec.batch, {}).setdefault(spec.device, []).append(result)
    found = []
    for work, batches in works.items():
        best = {
            batch: {device: min(each, key=_median) for device, each in devices.items()}
            for batch, devices in sorted(batches.items())
            if {"cpu", "gpu"} <= set(devices)
        }
        if len(best) > 1:
            found.append(
                EnergyCrossing(
                    *work,
                    cpu={batch: _median(devices["cpu"]) for batch, devices in best.items()},
                    gpu={batch: _median(devices["gpu"]) for batch, devices in best.items()},
                    kernels={
                        batch: (devices["cpu"].spec.kernel, devices["gpu"].spec.kernel)
                        for batch, devices in best.items()
                    },
                    crossings=_by_process(best),
                )
            )
    return tuple(found)


def _per_sample(result: CaseResult) -> list[float]:
    """Joules per sample of each process; empty where it is not known of all."""
    per_step = [joules_per_step(sample, result.spec.device) for sample in result.samples]
    known = [joules / result.spec.batch for joules in per_step if joules is not None]
    return known if len(known) == len(per_step) else []


def _median(result: CaseResult) -> float:
    return statistics.median(_per_sample(result))


def _by_process(best: Mapping[int, Mapping[str, CaseResult]]) -> tuple[float, ...]:
    columns = []
    for devices in best.values():
        pairs = zip(_per_sample(devices["gpu"]), _per_sample(devices["cpu"]), strict=False)
        columns.append([math.log(gpu / cpu) for gpu, cpu in pairs])
    return tuple(_crossing(list(best), values) for values in zip(*columns, strict=False))


def _crossing(batches: Sequence[int], values: Sequence[float]) -> float:
    """The last batch at which ln(gpu / cpu) falls through 0, linear in ln(batch)."""
    if values[-1] > 0:
        return math.inf
    points = list(zip([math.log(batch) for batch in batches], values, strict=True))
    for (low, above), (high, below) in reversed(list(itertools.pairwise(points))):
        if above > 0 >= below:
            return math.exp(low + (high - low) * above / (above - below))
    return 0.0
