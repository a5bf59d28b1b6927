"""The measuring stage: every selected case in every process, whatever single cases and workers do."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from perf.harness import sampling, schedule
from perf.harness.environment import Side
from perf.harness.journal import Journal
from perf.harness.records import CaseResult, CaseSpec, Environment, Failure, Sample
from perf.harness.replies import CaseError
from perf.harness.starting import start_again
from perf.harness.watch import Watch
from perf.harness.why.peak import ask_peak
from perf.harness.why.records import Peak
from perf.harness.workers import Worker

#: After so many workers lost one after another on a device, the rest of its cases is given up: each loss costs a
#: start of TensorFlow or a whole time limit, and by then it is not the cases.
LOST_IN_A_ROW = 5


@dataclass(frozen=True, slots=True)
class Settings:
    """How to measure. ``margin`` is a fraction (0.05), ``time_limit`` (of a request) and ``budget`` (of the whole
    stage) are seconds, ``module`` is the worker's, to be found in the checkout ``root``."""

    root: Path
    seed: int
    processes: int = 3
    margin: float = 0.05
    time_limit: float = 120.0
    budget: float | None = None
    module: str = "lstm_models.worker"
    gpu: str | None = None


class Progress:
    """Is told what happens; a subclass shows what it likes of it."""

    def starting(self, device: str, process: int) -> None:
        """A worker is about to start for the session's process number ``process`` (from 1)."""

    def started(self, key: str, process: int, done: int, total: int, seconds_left: float | None) -> None:
        """A case is about to be measured; ``done`` of ``total`` count cases times processes."""

    def part(self, name: str, unit: str = "pair") -> None:
        """A part of a session begins; what is counted as processes from now on are each such a ``unit``."""

    def waiting(self, what: str) -> None:
        """Something is done that takes a while and measures nothing."""

    def failed(self, key: str, failure: Failure) -> None:
        """A case failed and is not tried again."""

    def repeated(self, key: str, why: Sequence[str]) -> None:
        """Blocks of rounds of a case were void and repeated, each for a reason; said where no table says it later."""

    def end(self) -> None:
        """The stage is over, however it ended."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the stage found. ``results`` has every case that is not skipped; where the budget ran out they may lack
    samples, and ``unfinished`` names them. ``startup_seconds`` are from starting a worker to its first answer, the
    import of the framework included, one for each start."""

    results: dict[str, CaseResult]
    environments: dict[str, Environment]
    startup_seconds: dict[str, tuple[float, ...]]
    unfinished: tuple[str, ...]
    seed: int
    seconds: float
    peaks: tuple[Peak, ...] = ()  # of each process that was asked once its cases were done


def measure(
    specs: Sequence[CaseSpec],
    settings: Settings,
    side: Side | None = None,
    progress: Progress | None = None,
    journal: Journal | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Measured:
    """Measures all ``specs`` that are not skipped, one worker alive at a time, and always ends what it started.

    What goes wrong with a case or a worker becomes the :class:`Failure` of that case and the session goes on;
    only a ``KeyboardInterrupt`` (and a fault of this code) comes out. Call it in the main thread.
    """
    selected = [spec for spec in specs if spec.skip is None]
    watch = Watch(settings.gpu, counts_energy=True)
    try:
        return _Stage(selected, settings, side or Side(), progress or Progress(), journal, clock, watch).run()
    finally:
        watch.close()


@dataclass
class _Stage:
    specs: list[CaseSpec]
    settings: Settings
    side: Side
    progress: Progress
    journal: Journal | None
    clock: Callable[[], float]
    watch: Watch
    samples: dict[str, list[Sample]] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    environments: dict[str, Environment] = field(default_factory=dict)
    startups: dict[str, list[float]] = field(default_factory=dict)
    lost_in_a_row: dict[str, int] = field(default_factory=dict)
    seen: dict[str, float] = field(default_factory=dict)
    left: list[tuple[int, str, str]] = field(default_factory=list)  # process, device, case key: still to be done
    peaks: list[Peak] = field(default_factory=list)

    def run(self) -> Measured:
        begin = self.clock()
        planned = schedule.blocks(self.specs, self.settings.processes, self.settings.seed)
        self.left = [(block.process, block.device, spec.key) for block in planned for spec in block.specs]
        total = len(self.left)
        for block in planned:
            self._block(block, total, begin)
        return Measured(
            results={
                spec.key: CaseResult(spec, tuple(self.samples.get(spec.key, ())), self.failures.get(spec.key))
                for spec in self.specs
            },
            environments=self.environments,
            startup_seconds={device: tuple(seconds) for device, seconds in self.startups.items()},
            unfinished=tuple(dict.fromkeys(key for _, _, key in self.left)),
            seed=self.settings.seed,
            seconds=self.clock() - begin,
            peaks=tuple(self.peaks),
        )

    def _block(self, block: schedule.Block, total: int, begin: float) -> None:
        """One process of one device; more workers only where one is lost."""
        worker: Worker | None = None
        try:
            for spec in block.specs:
                if spec.key in self.failures:
                    continue
                if self.settings.budget is not None and self.clock() - begin >= self.settings.budget:
                    return
                fresh = worker is None or not worker.alive
                if worker is None or fresh:
                    worker = self._start(block)
                    if worker is None:
                        return
                done = total - len(self.left)
                self.progress.started(spec.key, block.process, done, total, self._seconds_left())
                if not self._case(worker, spec, block.process, fresh):
                    worker.close()
                    worker = self._start(block)
                    if worker is None:
                        return
                    self._case(worker, spec, block.process, fresh=True)
            if worker is not None and worker.alive:
                # Last, so that what it allocates and wakes is in no case's first call or memory. Without an answer
                # there is less to say of why, and no case is the worse for it.
                with contextlib.suppress(CaseError):
                    self.peaks.append(ask_peak(worker.request, block.process, block.device))
        finally:
            if worker is not None:
                worker.close()

    def _start(self, block: schedule.Block) -> Worker | None:
        """A worker that answered; ``None`` when there is none to be had, after its cases were failed."""
        device = block.device
        if self.lost_in_a_row.get(device, 0) >= LOST_IN_A_ROW:
            self._give_up(device, f"{LOST_IN_A_ROW} workers in a row were lost on {device}; the rest was not tried.")
            return None
        # One that started before in this session gets a second chance: then it was the moment, not the set-up.
        chances = 2 if device in self.environments else 1
        try:
            started = start_again(
                chances, lambda: self.progress.starting(device, block.process), self.side, device, self.settings,
                self.clock,
            )  # fmt: skip
        except CaseError as error:
            self._give_up(device, error.failure.message, error.failure.stage)
            return None
        self.startups.setdefault(device, []).append(started.seconds)
        self.environments.setdefault(device, started.environment)
        return started.worker

    def _case(self, worker: Worker, spec: CaseSpec, process: int, fresh: bool) -> bool:
        """False where it has to be done again in a fresh worker: memory ran out in one that is not ``fresh``, or its
        peak is not known, perhaps for what other cases left behind."""
        begin = self.clock()
        earlier = self.samples.get(spec.key)
        failure: Failure | None = None
        try:
            sample = sampling.sample(
                self.watch.over(worker, spec.device),
                spec,
                process,
                before=earlier[0] if earlier else None,
                margin=self.settings.margin,
                time_limit=self.settings.time_limit,
                seconds_at_least=self.watch.seconds_at_least(spec.device),
            )
        except CaseError as error:
            failure = error.failure
        try:
            if worker.alive:
                worker.request("close")
        except CaseError as error:
            failure = failure or error.failure
        out_of_memory = failure is not None and failure.stage == "memory"
        peak_unknown = failure is None and spec.device == "gpu" and sample.device_bytes_peak is None
        if not fresh and (out_of_memory or peak_unknown):
            return False
        if failure is not None:
            self._fail(spec.key, failure)
        else:
            self.samples.setdefault(spec.key, []).append(sample)
            self.left.remove((process, spec.device, spec.key))
            if self.journal is not None:
                self.journal.sample(spec.key, sample)
        self.seen[spec.key] = self.clock() - begin
        lost = not worker.alive and not out_of_memory
        self.lost_in_a_row[spec.device] = self.lost_in_a_row.get(spec.device, 0) + 1 if lost else 0
        return True

    def _give_up(self, device: str, message: str, stage: str = "worker") -> None:
        """All cases of the device fail that have not failed yet: they cannot be measured in all processes."""
        for spec in self.specs:
            if spec.device == device and spec.key not in self.failures:
                self._fail(spec.key, Failure(stage, message))

    def _fail(self, key: str, failure: Failure) -> None:
        self.failures[key] = failure
        self.left = [slot for slot in self.left if slot[2] != key]
        if self.journal is not None:
            self.journal.failure(key, failure)
        self.progress.failed(key, failure)

    def _seconds_left(self) -> float | None:
        seconds = schedule.seconds_left([key for _, _, key in self.left], self.seen)
        if seconds is None:
            return None
        # The worker that is about to measure has been started already.
        starts = len({(process, device) for process, device, _ in self.left}) - 1
        return seconds + starts * statistics.fmean(value for values in self.startups.values() for value in values)
