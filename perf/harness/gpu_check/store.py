"""What was found and measured, as one small JSON."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from perf.harness.conditions import Counter
from perf.harness.energy import counted_per_step
from perf.harness.gpu_check.records import Evidence, Finding
from perf.harness.records import Machine
from perf.harness.storing import plain, write_whole
from perf.harness.why.records import TRANSFER

FORM = 1


def path_for(storage: Path, date: datetime) -> Path:
    """In the folder of this machine's runs."""
    return storage / "gpu-check" / f"{date:%Y%m%d_%H%M%S}.json"


def write(path: Path, findings: Mapping[str, Finding], evidence: Evidence, machine: Machine, date: datetime) -> None:
    """Whole or not at all; raises ``OSError``."""
    write_whole(path, plain(encode(findings, evidence, machine, date)))


def encode(findings: Mapping[str, Finding], evidence: Evidence, machine: Machine, date: datetime) -> dict[str, Any]:
    """Seconds, joules and bytes; what was not measured is not there."""
    environment = evidence.environment
    return {
        "form": FORM,
        "date": date.isoformat(timespec="seconds"),
        "machine": machine.id,
        "gpu": asdict(evidence.gpu),
        "versions": dict(environment.versions) if environment else {},
        "seconds": evidence.seconds,
        "assumptions": {id: {"outcome": one.outcome, "said": one.said} for id, one in findings.items()},
        "cases": {
            key: {
                "seconds_per_step": sample.seconds_per_step,
                "steady": sample.steady,
                "first_call_seconds": sample.first_call_seconds,
                "device_bytes_peak": sample.device_bytes_peak,
                "gpu_joules_per_step": counted_per_step(sample, Counter.GPU),
            }
            for key, sample in evidence.samples.items()
        },
        "ratios": _ratios(evidence),
        "peaks": [asdict(peak) for peak in evidence.peaks],
        "pair": {"ratio_median": statistics.median(ratios), "ratios": list(ratios)}
        if (ratios := evidence.pair_ratios)
        else None,
        "failures": {key: asdict(failure) for key, failure in evidence.failures.items()},
    }


def _ratios(evidence: Evidence) -> dict[str, float]:
    """Time per step of one over the other, of the same path, workload, batch and precision: how many times faster."""
    found: dict[str, float] = {}
    timed = [
        spec
        for spec in evidence.specs
        if spec.key in evidence.samples and TRANSFER not in (spec.work.traits if spec.work else ())
    ]
    for fast in timed:
        for slow in timed:
            same = all(
                getattr(fast, name) == getattr(slow, name) for name in ("path", "workload", "batch", "precision")
            )
            pair = (f"{fast.kernel} on {fast.device}", f"{slow.kernel} on {slow.device}")
            if same and fast.device == "gpu" and fast.kernel == "cudnn" and pair[0] != pair[1]:
                ratio = evidence.samples[slow.key].seconds_per_step / evidence.samples[fast.key].seconds_per_step
                found[f"{fast.path} {fast.workload}-b{fast.batch}: {pair[1]} / {pair[0]}"] = ratio
    return found
