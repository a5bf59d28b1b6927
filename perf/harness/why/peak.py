"""The most that a process reaches: asked of a worker once its cases are done, and what a step reaches of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from perf.harness.replies import CaseError
from perf.harness.sampling import Ask
from perf.harness.stats import Estimate, interval_over_processes
from perf.harness.why.records import Peak, Subject, Transfer


def ask_peak(ask: Ask, process: int, device: str) -> Peak:
    """Asks the worker; raises :class:`CaseError`, also where the answer makes no sense."""
    reply = ask("peak")
    rates, transfer = reply.get("flops_per_second"), reply.get("transfer")
    if not isinstance(rates, dict) or not all(isinstance(name, str) and _is_time(rate) for name, rate in rates.items()):
        raise CaseError("worker", f"The worker's answer to 'peak' makes no sense: {reply!r:.200}")
    if transfer is None:
        return Peak(process, device, rates, None)
    if not isinstance(transfer, dict) or set(transfer) != {"fixed_seconds", "seconds_per_mib"}:
        raise CaseError("worker", f"The worker's answer to 'peak' makes no sense: {reply!r:.200}")
    if not all(_is_time(value, zero=True) for value in transfer.values()):
        raise CaseError("worker", f"The worker's answer to 'peak' makes no sense: {reply!r:.200}")
    return Peak(process, device, rates, Transfer(**transfer))


def _is_time(value: Any, zero: bool = False) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return number and (value > 0 or (zero and value == 0))


def rates(peaks: Sequence[Peak]) -> dict[tuple[str, str], Estimate]:
    """Flops per second by device and precision, over the processes."""
    found: dict[tuple[str, str], list[float]] = {}
    for peak in peaks:
        for precision, rate in peak.flops_per_second.items():
            found.setdefault((peak.device, precision), []).append(rate)
    return {key: interval_over_processes(values) for key, values in found.items()}


def share_of_peak(subject: Subject, seconds_per_step: Mapping[int, float], peaks: Sequence[Peak]) -> Estimate | None:
    """The part of the machine's own rate that a step's products reach, with its 95 % interval over processes.

    Held against the best that any process of the session reached, a ceiling: its own spread is not in the interval.
    ``None`` where the operations or the peak are not known.
    """
    known = [
        rate for peak in peaks if peak.device == subject.who.device
        if (rate := peak.flops_per_second.get(subject.work.peak)) is not None
    ]  # fmt: skip
    if subject.work.flops_per_sample is None or not known or not seconds_per_step:
        return None
    flops = subject.work.flops_per_sample * subject.batch
    return interval_over_processes([flops / seconds / max(known) for seconds in seconds_per_step.values()])


def share_of_transfer(
    subject: Subject, seconds_per_step: Mapping[int, float], peaks: Sequence[Peak]
) -> Estimate | None:
    """The part of a step that copying its inputs to the device would take alone; ``None`` where that is not known."""
    copies = [peak.transfer for peak in peaks if peak.device == subject.who.device and peak.transfer is not None]
    if subject.work.input_bytes_per_sample is None or not copies or not seconds_per_step:
        return None
    bytes_ = subject.work.input_bytes_per_sample * subject.batch
    copy = statistics.median(transfer.seconds(bytes_) for transfer in copies)
    if copy <= 0:
        return None  # shorter than the clock shows
    return interval_over_processes([copy / seconds for seconds in seconds_per_step.values()])
