"""What is taken for granted, what was seen of it, and what is said of it: plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from perf.harness.gpu_reading import Reading
from perf.harness.gpus import Gpu
from perf.harness.records import CaseSpec, Environment, Failure, Sample
from perf.harness.replies import Opened
from perf.harness.selection_records import SelectionRow
from perf.harness.why.records import Peak


class Outcome(StrEnum):
    HELD = "held"
    BROKEN = "not held"
    UNCHECKED = "not checked here"


@dataclass(frozen=True, slots=True)
class Assumption:
    """One line of the tables in docs/gpu-runner.md.

    ``unchecked``: why this command cannot tell, "" where it can. ``framework``: what Keras runs on where it matters
    (``jax``), "" where it always does.
    """

    id: str
    group: str
    text: str
    where: str
    check: str
    unchecked: str = ""
    framework: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of an assumption. ``said``: what was seen, or why nothing was. ``missed``: it would have
    been seen, had the time not ended or the look not failed."""

    id: str
    outcome: Outcome
    said: str
    missed: bool = False


class NotHeld(Exception):
    """A check saw that it is otherwise; the text says what was seen."""


class Unchecked(Exception):
    """A check could not be made; the text says why. ``missed`` as in :class:`Finding`."""

    def __init__(self, why: str, missed: bool = False) -> None:
        super().__init__(why)
        self.missed = missed


class Part(StrEnum):
    """What is looked at, in this order; what tells most comes first."""

    KERNELS = "opening and proving the cases on the GPU"
    TIMES = "timing on the GPU"
    MEMORY = "memory of the GPU"
    CPU = "a CPU case beside the GPU"
    PAIR = "two processes that take turns"
    PEAK = "matrix products and copies"
    TABLE = "the table of kernels"


@dataclass(frozen=True, slots=True)
class Scaled:
    """Seconds of a round of few calls and of one of :data:`perf.harness.gpu_check.looking.TIMES_AS_MANY` as many, and
    how long after it a single call was kept waiting, in seconds that it did not account for."""

    few: float
    many: float
    kept_waiting: float


@dataclass
class Evidence:
    """All that was seen; what is missing was not reached, or failed. Cases by key, in words of the suite.

    ``opened`` first of all, ``again`` at the end of the same process, ``other`` in another process. ``failures`` are of
    cases that could not be opened or timed, ``gone`` of whole parts: why, and whether they were missed
    (:class:`Finding`).
    """

    gpu: Gpu
    specs: tuple[CaseSpec, ...]
    time_limit: float
    environment: Environment | None = None
    cpu_environment: Environment | None = None
    opened: dict[str, Opened] = field(default_factory=dict)
    again: dict[str, Opened] = field(default_factory=dict)
    other: dict[str, Opened] = field(default_factory=dict)
    memory: dict[str, Opened] = field(
        default_factory=dict
    )  # a small case "alone", a "large" one, the small one "after"
    failures: dict[str, Failure] = field(default_factory=dict)
    samples: dict[str, Sample] = field(default_factory=dict)
    scaled: dict[str, Scaled] = field(default_factory=dict)
    joules_per_step: tuple[float, float] | None = None  # of a short and of a long stretch
    pair_ratios: tuple[float, ...] = ()  # seconds of a round of one process over those of the other's next to it
    alone_and_paired: tuple[float, float] | None = None  # seconds per step
    peaks: list[Peak] = field(default_factory=list)
    rows: tuple[SelectionRow, ...] = ()
    idle: Reading | None = None  # before the first worker
    busy: Reading | None = None  # just after a GPU case computed
    beside_cpu: tuple[Reading, Reading] | None = None  # before and after a CPU case computed
    both: Reading | None = None  # while the two of a pair hold their cases
    busy_pid: int = 0  # of the worker that computed
    reading_seconds: tuple[float, ...] = ()
    longest_request: tuple[float, str] = (0.0, "")
    gone: dict[Part, tuple[str, bool]] = field(default_factory=dict)
    seconds: float = 0.0

    def find(self, **wanted: str | int) -> list[CaseSpec]:
        """The cases whose fields are these, in the suite's order."""
        return [spec for spec in self.specs if all(getattr(spec, name) == value for name, value in wanted.items())]

    def missing(self, part: Part) -> Unchecked:
        """Why a check that needs this part cannot be made."""
        why, missed = self.gone.get(part, (f"nothing was seen of it: {part}", False))
        return Unchecked(why, missed)

    def facts(self, spec: CaseSpec, part: Part = Part.KERNELS) -> Opened:
        """What opening the case showed; raises :class:`NotHeld` where it failed, and :class:`Unchecked` where nobody
        opened it in the ``part`` that should."""
        if spec.key in self.opened:
            return self.opened[spec.key]
        if spec.key in self.failures:
            raise NotHeld(f"{spec.key} failed: {self.failures[spec.key].message.splitlines()[0]}")
        raise self.missing(part)

    def sample(self, spec: CaseSpec) -> Sample:
        """Its timed rounds, or why there are none, as :meth:`facts`."""
        if spec.key in self.samples:
            return self.samples[spec.key]
        if spec.key in self.failures:
            raise NotHeld(f"{spec.key} failed: {self.failures[spec.key].message.splitlines()[0]}")
        raise self.missing(Part.TIMES if spec.device == "gpu" else Part.CPU)
