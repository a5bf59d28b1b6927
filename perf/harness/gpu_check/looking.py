"""Looks at the host: opens the cases, times some, reads NVML. What it saw is evidence; nothing is judged here.

Only requests that every framework's worker answers are made.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping

from perf.harness import replies, rounds, sampling, selection
from perf.harness.conditions import Counter
from perf.harness.energy import counted_per_step
from perf.harness.gpu_check.asking import Asking, Late
from perf.harness.gpu_check.records import Evidence, Part, Scaled
from perf.harness.gpu_reading import GpuLost, GpuReader
from perf.harness.gpus import Gpu
from perf.harness.measure import Progress, Settings
from perf.harness.records import CaseSpec, Sample
from perf.harness.replies import CaseError, Opened
from perf.harness.sampling import Ask
from perf.harness.suite import Suite
from perf.harness.why.peak import ask_peak
from perf.harness.workers import Worker

TIMES_AS_MANY = 10
#: Rounds whose seconds are compared, of few calls and of many.
ROUNDS = 3
#: Of a pair's process, in turns with the other's.
PAIR_ROUNDS = 20
#: Seconds over which energy is counted, short and long.
SHORT_SECONDS, LONG_SECONDS = 1.0, 4.0
READINGS = 20
#: The smallest change that a timed case here shall show.
MARGIN = 0.05
#: Workers that may be lost to cases before the rest of the cases is given up.
MOST_LOST = 3


def look(
    suite: Suite,
    gpu: Gpu,
    settings: Settings,
    progress: Progress,
    clock: Callable[[], float] = time.perf_counter,
    open_reader: Callable[[str], GpuReader] = GpuReader.open,
) -> Evidence:
    """All that can be seen within ``settings.budget`` seconds. Leaves no process behind; whatever a worker or the GPU
    does is seen, and not raised."""
    evidence = Evidence(gpu, suite.specs, settings.time_limit)
    looking = _Looking(suite, evidence, Asking(settings, clock, open_reader), progress)
    try:
        looking.all()
    finally:
        looking.asking.close()
    evidence.longest_request = looking.asking.longest
    evidence.reading_seconds = tuple(looking.asking.reading_seconds)
    evidence.seconds = looking.asking.spent
    return evidence


class _Looking:
    def __init__(self, suite: Suite, evidence: Evidence, asking: Asking, progress: Progress) -> None:
        self._suite = suite
        self._evidence = evidence
        self.asking = asking
        self._progress = progress
        self._worker: Worker | None = None
        self._lost = 0

    def all(self) -> None:
        """Each part once, in order; a part that fails says why, and the next begins all the same."""
        parts: Mapping[Part, Callable[[], None]] = {
            Part.KERNELS: self._kernels,
            Part.TIMES: self._times,
            Part.MEMORY: self._memory,
            Part.CPU: self._cpu,
            Part.PAIR: self._pair,
            Part.PEAK: self._peak,
            Part.TABLE: self._table,
        }
        for part, look in parts.items():
            self._progress.waiting(str(part))
            try:
                look()
            except Late:
                limit = self.asking.settings.budget or 0.0
                for one in list(parts)[list(parts).index(part) :]:
                    self._evidence.gone[one] = (f"the time limit of {limit:g} s ended before: {one}", True)
                return
            except (CaseError, GpuLost) as error:
                text = error.failure.message if isinstance(error, CaseError) else f"NVML does not answer: {error}"
                self._evidence.gone[part] = (text, True)

    def _on_gpu(self) -> Ask:
        """Requests of the one GPU worker, which is started anew where a case ended it."""
        if self._worker is None or not self._worker.alive:
            self._worker, environment = self.asking.start("gpu")
            self._evidence.environment = self._evidence.environment or environment
        return self.asking.of(self._worker, "gpu")

    def _end_gpu(self) -> None:
        if self._worker is not None:
            self.asking.end(self._worker)
            self._worker = None

    def _each(
        self,
        specs: Iterable[CaseSpec],
        look: Callable[[Ask, CaseSpec], None],
        worker: Callable[[], Ask] | None = None,
    ) -> None:
        """``look`` at each case, on the GPU unless another ``worker`` is given; one that fails is noted, and stops the
        others only where workers are lost to it."""
        worker = worker or self._on_gpu
        for spec in specs:
            if spec.key in self._evidence.failures:
                continue
            ask = worker()
            try:
                look(ask, spec)
            except CaseError as error:
                self._evidence.failures[spec.key] = error.failure
                self._progress.failed(spec.key, error.failure)
                self._lost += error.lost
                if self._lost >= MOST_LOST:
                    raise

    def _kernels(self) -> None:
        evidence = self._evidence
        evidence.idle = self.asking.read()
        for _ in range(READINGS - 1):
            self.asking.read()

        def open_(ask: Ask, spec: CaseSpec) -> None:
            evidence.opened[spec.key] = _opened(ask, spec)

        on_gpu = evidence.find(device="gpu")
        self._each(on_gpu, open_)

        def again(ask: Ask, spec: CaseSpec) -> None:
            evidence.again[spec.key] = _opened(ask, spec)

        self._each([spec for spec in on_gpu if spec.key in evidence.opened][:1], again)

    def _times(self) -> None:
        evidence = self._evidence

        def sample(ask: Ask, spec: CaseSpec) -> None:
            evidence.samples[spec.key] = _sampled(ask, spec, self.asking)
            if evidence.busy is None:
                assert self._worker is not None
                evidence.busy, evidence.busy_pid = self.asking.read(), self._worker.pid

        forwards = evidence.find(device="gpu", path="forward", precision="float32")
        self._each([spec for spec in forwards if spec.kernel in ("cudnn", "loop") and spec.skip is None], sample)

        def scale(ask: Ask, spec: CaseSpec) -> None:
            _opened(ask, spec)
            evidence.scaled[spec.key] = _scaled(ask, spec, self.asking.clock)

        whole = [spec for spec in evidence.find(device="gpu", precision="float32", kernel="cudnn") if spec.skip is None]
        self._each({spec.path: spec for spec in reversed(whole)}.values(), scale)
        self._each([spec for spec in forwards if spec.kernel == "xla"][:1], scale)

        def count(ask: Ask, spec: CaseSpec) -> None:
            short, long = (
                counted_per_step(_sampled(ask, spec, self.asking, seconds), Counter.GPU)
                for seconds in (SHORT_SECONDS, LONG_SECONDS)
            )
            if short is not None and long is not None:
                evidence.joules_per_step = (short, long)

        self._each([spec for spec in forwards if spec.key in evidence.samples][:1], count)

    def _memory(self) -> None:
        """The first case alone, a large one, and the first again, in a fresh process where nothing was before."""
        evidence = self._evidence
        specs = [spec for spec in evidence.find(device="gpu", kernel="cudnn", path="forward") if spec.skip is None]
        if len({spec.batch for spec in specs}) < 2:
            return
        small, large = (choose(specs, key=lambda spec: spec.batch) for choose in (min, max))
        self._end_gpu()
        ask = self._on_gpu()
        for name, spec in (("alone", small), ("large", large), ("after", small)):
            evidence.memory[name] = _opened(ask, spec)
            ask("close")

    def _cpu(self) -> None:
        """With no worker on the GPU, so that whatever NVML sees there is not the suite's or is a fault."""
        evidence = self._evidence
        specs = evidence.find(device="cpu")
        if not specs:
            return
        self._end_gpu()
        worker, evidence.cpu_environment = self.asking.start("cpu")
        ask = self.asking.of(worker, "cpu")
        before = self.asking.read()

        def sample(ask: Ask, spec: CaseSpec) -> None:
            evidence.opened[spec.key] = _opened(ask, spec)
            evidence.samples[spec.key] = _sampled(ask, spec, self.asking)

        self._each(specs, sample, lambda: ask)
        evidence.beside_cpu = before, self.asking.read()
        self.asking.end(worker)

    def _pair(self) -> None:
        evidence = self._evidence
        spec = next(
            (spec for spec in evidence.find(device="gpu", path="forward") if spec.key in evidence.samples), None
        )
        if spec is None:
            return
        first = self._on_gpu()
        alone = _sampled(first, spec, self.asking)
        worker, _ = self.asking.start("gpu")
        second = self.asking.of(worker, "gpu")
        evidence.other[spec.key] = _opened(second, spec)
        evidence.both = self.asking.read()
        calls = alone.calls_per_round
        for ask in (first, second):
            sampling.run_rounds(ask, spec, 2, calls)  # the first rounds after the other's opening do not count
        seconds: tuple[list[float], list[float]] = ([], [])
        for number in range(PAIR_ROUNDS):
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                seconds[side].extend(sampling.run_rounds((first, second)[side], spec, 1, calls).seconds)
        evidence.pair_ratios = tuple(b / a for a, b in zip(*seconds, strict=True))
        evidence.alone_and_paired = alone.seconds_per_step, statistics.median(seconds[0]) / alone.steps_per_round
        self.asking.end(worker)

    def _peak(self) -> None:
        self._evidence.peaks.append(ask_peak(self._on_gpu(), 1, "gpu"))

    def _table(self) -> None:
        if not self._suite.selection:
            self._evidence.gone[Part.TABLE] = (self._suite.selection_absent or "there are no settings to trace", False)
            return
        self._on_gpu()
        assert self._worker is not None
        self._worker.limit(self.asking.left)
        used = {f"workload:{spec.workload}" for spec in self._evidence.specs}
        settings = {name: payload for name, payload in self._suite.selection.items() if name in used}
        self._evidence.rows = selection.ask(self._worker, settings).rows


def _opened(ask: Ask, spec: CaseSpec) -> Opened:
    """Opened in place of what was; which kernel ran is for the checks to judge."""
    return replies.opened(ask("open", case=dict(spec.payload)))


def _sampled(ask: Ask, spec: CaseSpec, asking: Asking, seconds: float = 0.0) -> Sample:
    return sampling.sample(
        ask, spec, 1, before=None, margin=MARGIN, time_limit=asking.settings.time_limit, seconds_at_least=seconds
    )


def _scaled(ask: Ask, spec: CaseSpec, clock: Callable[[], float]) -> Scaled:
    def seconds(calls: int) -> float:
        return statistics.median(sampling.run_rounds(ask, spec, ROUNDS, calls).seconds)

    once = seconds(1)
    calls = min(rounds.calls_for(once), max(1, round(0.5 / once)))
    seconds(calls)  # on the way to a steady state
    few, many = seconds(calls), seconds(TIMES_AS_MANY * calls)
    begin = clock()
    single = seconds(1)
    return Scaled(few, many, max(clock() - begin - ROUNDS * single, 0.0))
