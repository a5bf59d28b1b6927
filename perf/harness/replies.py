"""What a worker may answer to ``open`` and ``run``, checked before it is believed. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perf.harness.conditions import Conditions
from perf.harness.digits import kept
from perf.harness.records import CaseSpec, Facts, Failure


class CaseError(Exception):
    """A case cannot be measured; ``failure`` says at which stage and why, for a person.

    ``lost``: the worker is gone with it. ``raised``: an exception that nobody expected stopped it.
    """

    def __init__(self, stage: str, message: str, *, lost: bool = False, raised: bool = False) -> None:
        super().__init__(message)
        self.failure = Failure(stage, message)
        self.lost = lost
        self._raised = raised

    @property
    def refused(self) -> bool:
        """The worker lives and could not open the case as it was asked for."""
        return not self.lost and self.failure.stage in ("open", "proof")

    @property
    def unsupported(self) -> bool:
        """The worker said itself that its framework cannot do this, and did not stumble over it."""
        return self.refused and self.failure.stage == "open" and not self._raised


@dataclass(frozen=True, slots=True)
class Opened:
    """What ``open`` answered."""

    first_call_seconds: float
    bytes_peak: int | None  # of the host
    facts: Facts
    device_bytes_peak: int | None = None  # of the GPU's allocator; a CPU has none


@dataclass(frozen=True, slots=True)
class Timed:
    """What ``run`` answered: seconds of each round, of each call where the case keeps them, and new traces; and under
    which conditions, where :mod:`perf.harness.watch` read them."""

    seconds: tuple[float, ...]
    call_seconds: tuple[float, ...]
    traces: int
    conditions: Conditions | None = None


def opened(reply: Mapping[str, Any]) -> Opened:
    """The reply to ``open``; raises :class:`CaseError` where it is not as the protocol says."""
    facts = reply.get("facts")
    if not isinstance(facts, dict):
        raise _nonsense("open", "facts", facts, "a mapping")
    resolved = facts.get("resolved")
    if not isinstance(resolved, dict) or not all(isinstance(text, str) for item in resolved.items() for text in item):
        raise _nonsense("open", "resolved", resolved, "a mapping of text to text")
    for name in ("kernel", "device"):
        if not isinstance(facts.get(name), str):
            raise _nonsense("open", name, facts.get(name), "text")
    probe = facts.get("probe")
    if not isinstance(probe, (list, tuple)) or not all(_is_number(value) for value in probe):
        raise CaseError("oracle", f"The numbers of the case's result are not all finite: {probe!r:.300}.")
    return Opened(
        first_call_seconds=_positive("open", "first_call_seconds", reply.get("first_call_seconds")),
        bytes_peak=_count("open", "bytes_peak", reply.get("bytes_peak"), optional=True),
        facts=Facts(
            kernel=facts["kernel"],
            device=facts["device"],
            resolved=resolved,
            first_call_traces=_count("open", "first_call_traces", facts.get("first_call_traces")) or 0,
            output_error=_error("output_error", facts.get("output_error")),
            gradient_error=_error("gradient_error", facts.get("gradient_error")),
            tolerance=_positive("open", "tolerance", facts.get("tolerance")),
            probe=tuple(float(value) for value in probe),
        ),
        device_bytes_peak=_count("open", "device_bytes_peak", reply.get("device_bytes_peak"), optional=True),
    )


def timed(reply: Mapping[str, Any], rounds: int, calls: int, keeps_calls: bool) -> Timed:
    """The reply to ``run`` of so many rounds and calls; raises :class:`CaseError` where a time is no time."""
    return Timed(
        seconds=_times("seconds", reply.get("seconds"), rounds),
        call_seconds=_times("call_seconds", reply.get("call_seconds"), rounds * calls if keeps_calls else 0),
        traces=_count("run", "traces", reply.get("traces")) or 0,
        conditions=found if isinstance(found := reply.get("conditions"), Conditions) else None,
    )


def check_proof(spec: CaseSpec, facts: Facts) -> None:
    """Raises :class:`CaseError` where another kernel or device ran than the case's name says."""
    if spec.expects_kernel is not None and facts.kernel != spec.expects_kernel:
        raise CaseError(
            "proof",
            f"{spec.key} must run as kernel {spec.expects_kernel!r}, but {facts.kernel!r} ran (read from what was "
            f"executed on {facts.device}). It was not timed, because the times would stand under the wrong name. "
            f"'python -m lstm_models explain {spec.workload}' says which settings choose the kernel.",
        )
    if facts.device != spec.device:
        raise CaseError(
            "proof",
            f"{spec.key} asks for device {spec.device!r}, but {facts.device!r} executed it. It was not timed. Either "
            "the framework does not see the device in a worker (compare 'devices' in the run's environment) or it has "
            "no such operation there.",
        )


def check_same(spec: CaseSpec, first: Facts, now: Facts, process: int) -> None:
    """Raises :class:`CaseError` where a process of one session computed something else than the first one did."""
    if now.kernel != first.kernel:
        raise CaseError(
            "proof",
            f"{spec.key}: kernel {first.kernel!r} ran in the session's first process and {now.kernel!r} in process "
            f"{process}, in one environment. The times of two kernels cannot be one result.",
        )
    if len(now.probe) != len(first.probe):
        raise CaseError(
            "oracle",
            f"{spec.key}: {len(first.probe)} probed numbers in the first process, {len(now.probe)} in {process}.",
        )
    scale = max((abs(value) for value in first.probe), default=0.0)
    error = max((abs(a - b) for a, b in zip(first.probe, now.probe, strict=True)), default=0.0)
    if error > first.tolerance * scale:
        raise CaseError(
            "oracle",
            f"{spec.key}: process {process} computed other numbers than the first process from the same weights and "
            f"inputs: they are {error / scale if scale else math.inf:.2g} of the largest apart, tolerated are "
            f"{first.tolerance:.2g}. Something in the environment is not deterministic beyond rounding.",
        )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _positive(op: str, name: str, value: object) -> float:
    if not _is_number(value) or value <= 0:  # type: ignore[operator]
        raise _nonsense(op, name, value, "a finite number above 0")
    return kept(float(value))  # type: ignore[arg-type]


def _times(name: str, values: object, count: int) -> tuple[float, ...]:
    if not isinstance(values, (list, tuple)) or len(values) != count:
        raise _nonsense("run", name, values, f"a list of {count} times")
    return tuple(_positive("run", name, value) for value in values)


def _count(op: str, name: str, value: object, optional: bool = False) -> int | None:
    if value is None and optional:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _nonsense(op, name, value, "a whole number of at least 0")
    return value


def _error(name: str, value: object) -> float | None:
    if value is None:
        return None
    if not _is_number(value) or value < 0:  # type: ignore[operator]
        raise CaseError("oracle", f"The worker could not compare with the oracle: {name} is {value!r:.100}.")
    return float(value)  # type: ignore[arg-type]


def _nonsense(op: str, name: str, value: object, expected: str) -> CaseError:
    return CaseError(
        "worker",
        f"The worker's answer to {op!r} makes no sense: {name!r} must be {expected}, but it is {value!r:.200}. "
        "Nothing of it was used. Both ends speak the protocol of this checkout, so this is a fault of the suite or "
        "of a clock; please report it with the case's name.",
    )
