"""What an account needs besides cases and expectations, in a run's file. Reading is strict, as everywhere.

Files without the block are older, or nothing was asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perf.harness.entry import Entry, read_json
from perf.harness.records import Work
from perf.harness.why.records import Evidence, Peak, Subject, Transfer, Who

#: Name of the block, beside the expectations.
BLOCK = "why"
_WHO = ("workload", "path", "device", "kernel", "precision", "data_set")


def encode(evidence: Evidence) -> dict[str, Any]:
    return {
        "subjects": {key: _encode_subject(subject) for key, subject in evidence.subjects.items()},
        "peaks": [_encode_peak(peak) for peak in evidence.peaks],
        "startup_seconds": {device: list(seconds) for device, seconds in evidence.startup_seconds.items()},
    }


def decode(block: Entry) -> Evidence:
    """Of a run's ``block``; empty where it has no such entry."""
    if not block.has(BLOCK):
        return Evidence()
    entry = block[BLOCK].closed("subjects", "peaks", "startup_seconds")
    return Evidence(
        subjects={key: _decode_subject(each) for key, each in entry["subjects"].items()},
        peaks=tuple(_decode_peak(each) for each in entry["peaks"].elements()),
        startup_seconds={
            device: tuple(each.positive() for each in seconds.elements())
            for device, seconds in entry["startup_seconds"].items()
        },
    )


def of_run(path: Path, block: str) -> Evidence:
    """What the run in ``path`` holds under its ``block``."""
    return decode(read_json(path)[block])


def _encode_subject(subject: Subject) -> dict[str, Any]:
    work = subject.work
    return {
        **{name: getattr(subject.who, name) for name in _WHO},
        "batch": subject.batch,
        "traits": dict(work.traits),
        "peak": work.peak,
        "flops_per_sample": work.flops_per_sample,
        "input_bytes_per_sample": work.input_bytes_per_sample,
    }


def _decode_subject(entry: Entry) -> Subject:
    entry.closed(*_WHO, "batch", "traits", "peak", "flops_per_sample", "input_bytes_per_sample")
    work = Work(
        traits=entry["traits"].texts(),
        peak=entry["peak"].text(),
        flops_per_sample=_optional(entry["flops_per_sample"]),
        input_bytes_per_sample=_optional(entry["input_bytes_per_sample"]),
    )
    return Subject(Who(**{name: entry[name].text() for name in _WHO}), entry["batch"].integer(minimum=1), work)


def _encode_peak(peak: Peak) -> dict[str, Any]:
    transfer: Mapping[str, float] | None = None
    if peak.transfer is not None:
        transfer = {
            "fixed_seconds": peak.transfer.fixed_seconds,
            "seconds_per_mib": peak.transfer.seconds_per_mib,
        }
    return {
        "process": peak.process,
        "device": peak.device,
        "flops_per_second": dict(peak.flops_per_second),
        "transfer": transfer,
    }


def _decode_peak(entry: Entry) -> Peak:
    entry.closed("process", "device", "flops_per_second", "transfer")
    transfer = None
    if (copied := entry["transfer"]).value is not None:
        copied.closed("fixed_seconds", "seconds_per_mib")
        transfer = Transfer(*(_not_negative(copied[name]) for name in ("fixed_seconds", "seconds_per_mib")))
    rates = {precision: rate.positive() for precision, rate in entry["flops_per_second"].items()}
    return Peak(entry["process"].integer(minimum=1), entry["device"].text(), rates, transfer)


def _optional(entry: Entry) -> float | None:
    return None if entry.value is None else _not_negative(entry)


def _not_negative(entry: Entry) -> float:
    if (value := entry.number()) < 0:
        entry.refuse("a number, 0 or more")
    return value
