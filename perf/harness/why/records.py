"""What an account is given from, and what it says: frozen records of plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from perf.harness.records import CaseSpec, Change, Work
from perf.harness.stats import Estimate


@dataclass(frozen=True, slots=True)
class Transfer:
    """A copy from the host to the GPU takes ``fixed_seconds + seconds_per_mib x MiB``."""

    fixed_seconds: float
    seconds_per_mib: float

    def seconds(self, bytes_: float) -> float:
        return self.fixed_seconds + self.seconds_per_mib * bytes_ / 2**20


@dataclass(frozen=True, slots=True)
class Peak:
    """The most that one process reached where nothing but matrix products (by precision) or copies were asked of it."""

    process: int
    device: str
    flops_per_second: Mapping[str, float]
    transfer: Transfer | None


@dataclass(frozen=True, slots=True)
class Who:
    """A contender: what is the same along its curve over the batch."""

    workload: str
    path: str
    device: str
    kernel: str
    precision: str
    data_set: str = ""  # batches of one call, where the path has that trait

    @property
    def where(self) -> tuple[str, str, str, str]:
        """Equal for those that do the same work, and may be chosen instead of each other."""
        return self.workload, self.path, self.precision, self.data_set

    @property
    def choice(self) -> str:
        return f"{self.kernel} on {self.device}"


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of a case without measuring it."""

    who: Who
    batch: int
    work: Work

    @classmethod
    def of(cls, spec: CaseSpec) -> Self | None:
        """``None`` where nothing is known of its work."""
        if spec.work is None:
            return None
        data_set = spec.work.traits.get("data set size", "")
        who = Who(spec.workload, spec.path, spec.device, spec.kernel, spec.precision, data_set)
        return cls(who, spec.batch, spec.work)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a session knows besides its times. ``subjects`` by case key, ``startup_seconds`` by device, one for each
    start of a worker; ``peaks``: one for each process that was asked."""

    subjects: Mapping[str, Subject] = field(default_factory=dict)
    peaks: tuple[Peak, ...] = ()
    startup_seconds: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


#: The trait of a case that is given inputs of the host although its path leaves it the choice; the others have none.
TRANSFER = "transfer"


class Bound(StrEnum):
    """What takes more than half of a step."""

    TRANSFER = "transfer to the device"
    CALL = "the overhead of a call"
    LAUNCHES = "launching small operations"
    EITHER = "the overhead of a call and launching small operations, together"
    ARITHMETIC = "arithmetic"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True, slots=True)
class Reason:
    """What one contender is bound by at one batch. ``number``, with its interval, is what says so, and ``meaning`` what
    it is: ``times what xla takes``; ``number`` is "" where there is none."""

    who: Who
    batch: int
    bound: Bound
    number: str
    meaning: str
    share_of_peak: Estimate | None  # 0.12: 12 % of what matrix products reach here; None: not known


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The fastest of what was measured at one batch. ``ties`` are as fast: none of them takes more than ``tie_within``
    (1.08: 8 % longer). ``open`` cannot be told from it. ``change``: what the next slower, ``then``, takes, as a ratio.

    ``estimated``: a contender's time is that of its cost line inside its measured range.
    """

    batch: int
    best: Who | None  # None: not measured
    ties: tuple[Who, ...] = ()
    tie_within: float | None = None
    open: tuple[Who, ...] = ()
    then: Who | None = None
    change: Change | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Payback:
    """From how many steps on the one that is faster per step has earned what it costs more before its first step.

    ``steps`` is ``None`` where the difference of either may be 0. ``extra_seconds`` are those of the first call, and of
    start-up where the two run on different devices; below 0 it costs less from the start.
    """

    fast: Who
    slow: Who
    batch: int
    extra_seconds: Estimate
    gain_seconds_per_step: Estimate
    steps: Estimate | None


@dataclass(frozen=True, slots=True)
class Overhead:
    """What ``fit``, ``evaluate`` or ``predict`` add to the bare step of the same kernel, batch and device."""

    who: Who
    bare: str  # its path
    batch: int
    added_seconds_per_step: Estimate
    change: Change


@dataclass(frozen=True, slots=True)
class Copied:
    """The part of a step that copying its inputs from the host would take alone."""

    who: Who
    batch: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class Effect:
    """One factor, changed alone: time per step with ``after`` over time per step with ``before``."""

    factor: str
    before: str
    after: str
    change: Change
    on: str  # of what: path, workload, and what else is the same


@dataclass(frozen=True, slots=True)
class Account:
    """All that is said of why."""

    peaks: Mapping[tuple[str, str], Estimate]  # flops per second by device and precision
    effects: tuple[Effect, ...] = ()
    not_measured: tuple[str, ...] = ()  # factors that people name and this session did not isolate
    recommendations: Mapping[tuple[str, str, str, str], tuple[Recommendation, ...]] = field(default_factory=dict)
    paybacks: tuple[Payback, ...] = ()
    overheads: tuple[Overhead, ...] = ()
    transfers: tuple[Copied, ...] = ()
    reasons: tuple[Reason, ...] = ()
