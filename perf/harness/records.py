"""What the stages hand to each other: frozen records of plain values.

Missing is ``None``, never 0 or -1. Times are seconds, memory is bytes, and the name says per what.
:mod:`perf.harness.codec` writes and reads them as JSON; nothing else builds them from stored data.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perf.harness.conditions import Conditions
    from perf.harness.selection_records import PromotedSetting, Selection


@dataclass(frozen=True, slots=True)
class Work:
    """How much a case asks for. ``traits`` are what people choose, by name and in words (``batch``: ``32``): of two
    cases that differ in one of them, the ratio of their times is the effect of that one.

    ``flops_per_sample`` and ``input_bytes_per_sample`` are those of one step, ``None`` where they are not known.
    ``peak``: the precision in which its products are made (``float16``), by which the machine's peak is looked up.
    """

    traits: Mapping[str, str]
    peak: str
    flops_per_sample: float | None
    input_bytes_per_sample: float | None


@dataclass(frozen=True, slots=True)
class CaseSpec:
    """A case as the suite hands it to the harness; the harness knows nothing of what it means.

    ``payload`` is what the worker's ``open`` is sent. ``hash`` digests all that defines the work: only equal hashes
    are compared. ``skip`` is the reason why the case cannot exist here. ``expects_kernel`` is the kernel that the
    proof must find, ``None`` where the framework chooses. ``work`` says what makes it fast or slow, for the account
    that is given of it (:mod:`perf.harness.why`); ``None`` where nothing is known of that.
    """

    key: str
    id: str
    path: str
    workload: str
    batch: int
    device: str
    kernel: str
    precision: str
    hash: str
    steps_per_call: int
    keeps_calls: bool
    expects_kernel: str | None
    payload: Mapping[str, Any]
    skip: str | None = None
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """What a worker proved about an open case before it was timed.

    ``kernel`` and ``device`` are read from what was executed. ``probe`` holds a few numbers of the case's result
    (same weights and inputs everywhere), to be compared within ``tolerance`` x the largest of them. The errors are
    relative to the scale of the oracle's result; ``None`` where the path yields no such numbers. ``resolved`` are
    settings that the framework chose (``jit_compile``, ``use_cudnn`` ...), as text.
    """

    kernel: str
    device: str
    resolved: Mapping[str, str]
    first_call_traces: int
    output_error: float | None
    gradient_error: float | None
    tolerance: float
    probe: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Sample:
    """All timed rounds of one case in one process.

    A round is ``calls_per_round`` calls of ``steps_per_call`` steps each between two device synchronisations.
    ``bytes_peak`` is host memory over what was resident before the case was opened, ``device_bytes_peak`` that of the
    GPU's allocator; ``conditions`` were read around the rounds.
    """

    process: int
    calls_per_round: int
    steps_per_call: int
    seconds_per_round: tuple[float, ...]
    rounds_discarded: int
    steady: bool
    first_call_seconds: float
    bytes_peak: int | None
    timed_traces: int
    facts: Facts
    seconds_per_call: tuple[float, ...] = ()
    device_bytes_peak: int | None = None
    conditions: Conditions | None = None

    @property
    def steps_per_round(self) -> int:
        return self.calls_per_round * self.steps_per_call

    @property
    def seconds_per_step(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.seconds_per_round) / self.steps_per_round

    def peak_on(self, device: str) -> int | None:
        """The peak of the memory that belongs to ``device``; ``None`` where it could not be read."""
        return self.bytes_peak if device == "cpu" else self.device_bytes_peak


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a case has no usable sample: one paragraph, with the end of the worker's stderr where there is one."""

    stage: str  # worker | proof | oracle | traces | open | memory | time limit | void | gpu
    message: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What one session measured for one case."""

    spec: CaseSpec
    samples: tuple[Sample, ...]
    failure: Failure | None = None

    @property
    def log_seconds_per_step(self) -> float:
        """ln of the median over processes of the process medians (METHOD: y)."""
        return math.log(statistics.median(sample.seconds_per_step for sample in self.samples))

    @property
    def steady(self) -> bool:
        """Whether most processes reached a steady state; the median over processes bears with one that did not.

        Asked of every process, a noisy machine would make some case unsteady in every third run: two windows of equal
        rounds disagree by noise alone in one of seven times.
        """
        return sum(sample.steady for sample in self.samples) * 2 > len(self.samples)


@dataclass(frozen=True, slots=True)
class Machine:
    """The hardware: ``identity`` must match for stored times to be compared (CPU model, cores, GPUs); ``informs``
    (host name, memory, kernel, governor ...), what else was seen of the host, is listed where it differs."""

    identity: Mapping[str, str]
    informs: Mapping[str, str]
    id: str  # folder and file name: readable words and a digest of the identity


@dataclass(frozen=True, slots=True)
class Environment:
    """What a worker runs with, as its ``describe`` answered."""

    versions: Mapping[str, str]  # python, tensorflow, keras, numpy, cuda, cudnn ...
    packages: Mapping[str, str]  # every installed distribution
    settings: Mapping[str, str]  # onednn, threads, tf32, determinism ...
    variables: Mapping[str, str]  # TF_*, KERAS_*, XLA_*, OMP_*, LSTM_PERF_*
    devices: tuple[str, ...]

    @property
    def same_software(self) -> tuple[Any, ...]:
        """Equal for two environments whose runs are one history."""
        return (sorted(self.packages.items()), sorted(self.variables.items()), self.versions.get("python"))


@dataclass(frozen=True, slots=True)
class Run:
    """What one session measured, as it was stored."""

    name: str  # file name without .json, e.g. 0003_before-upgrade
    date: datetime
    machine: Machine
    environments: Mapping[str, Environment]  # by device: the workers of each run with their own
    profile: str
    suite: str  # which workloads: "built-in", or the name of a user's file
    seed: int  # of the data and of the drawn orders
    complete: bool  # every case of the profile was collected and measured or failed
    interrupted: bool  # stopped by a person or a budget; never promoted
    cases: Mapping[str, CaseResult]
    red: Mapping[str, str]  # case key, or kernel[setting] -> why its test failed; such cannot be promoted
    selection: Selection | None = None  # kernels that Keras would pick on a GPU host; None where not looked at


@dataclass(frozen=True, slots=True)
class BaselineCase:
    """One promoted case: the results of one or more runs of one environment, with the reason."""

    key: str
    hash: str
    runs: tuple[tuple[str, datetime, CaseResult], ...]  # run name, its date, what it measured
    environment: Environment
    profile: str  # the smallest profile that it was promoted from, and the suite: a run of these must measure it
    suite: str
    promoted: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a machine's runs are compared with: a decision, never the newest file."""

    name: str  # shown: perf/baselines/<machine>.json, or the run that was named
    machine: Machine
    cases: Mapping[str, BaselineCase]
    selection: Mapping[str, PromotedSetting] = field(default_factory=dict)  # by setting


class Verdict(StrEnum):
    """What a comparison found for a case; ``METHOD`` in docs/method.md says how."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    INCONCLUSIVE = "inconclusive"
    DRIFTED = "drifted"
    UNSTEADY = "unsteady"
    NO_BASELINE = "no baseline"
    CASE_CHANGED = "case changed"
    NOT_COMPARABLE = "not comparable"
    KERNEL_CHANGED = "kernel changed"
    NUMBERS_CHANGED = "numbers changed"
    FAILED = "failed"

    @property
    def is_red(self) -> bool:
        """The case's test fails."""
        return self in (Verdict.REGRESSED, Verdict.KERNEL_CHANGED, Verdict.NUMBERS_CHANGED, Verdict.FAILED)


@dataclass(frozen=True, slots=True)
class Change:
    """A ratio of times with its interval: candidate over baseline, 1.0 is no change."""

    ratio: float
    low: float
    high: float
    level: float  # of the interval, e.g. 0.9


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict of one case, with all that its message needs."""

    key: str
    verdict: Verdict
    reason: str  # one sentence or paragraph for a person; "" where the verdict says all
    change: Change | None = None
    smallest_visible: float | None = None  # smallest ratio that would have been red, e.g. 1.3
    history_runs: int | None = None  # runs that the spread was estimated from; under 3 it was assumed
    informs: tuple[str, ...] = ()  # what differs from the baseline without making the case red
    side_by_side: Change | None = None  # to the baseline's environment, measured now: of a suspect of stored numbers


@dataclass(frozen=True, slots=True)
class Comparison:
    """All judgements of a session against one baseline."""

    baseline: Baseline
    judgements: Mapping[str, Judgement]
    missing: tuple[str, ...]  # in the baseline and the profile's scope, not measured, not deselected
    new: tuple[str, ...]  # measured, without a baseline
    run_effect: Change | None  # geometric mean over cases: the machine's share
    suspects: tuple[str, ...] = ()  # slower by the stored numbers, the surest first; to be decided side by side
