"""The measuring stage of expectations: every group in every process, at most two workers alive at a time."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from perf.harness import expectation_plan, expectation_sampling, schedule
from perf.harness.digits import kept
from perf.harness.expectation_plan import Entrant, Group, Lane
from perf.harness.expectation_records import Expectation, Observation, Observed
from perf.harness.expectation_sampling import EntrantLost, Once
from perf.harness.journal import Journal
from perf.harness.measure import Progress, Settings
from perf.harness.paired_evidence import Metric
from perf.harness.records import CaseSpec, Failure, Sample
from perf.harness.replies import CaseError
from perf.harness.starting import start_again
from perf.harness.watch import Watch
from perf.harness.workers import Worker

_MOST_WORKERS = 2
#: Less memory than a page was not measured, it is 0.
_PAGE = 4096


def measure_expectations(
    expectations: Sequence[Expectation],
    specs: Mapping[str, CaseSpec],
    settings: Settings,
    progress: Progress | None = None,
    journal: Journal | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Observed]:
    """What was measured of each of the ``expectations`` that is not skipped, by id; always ends what it started.

    ``specs`` are their cases by key. ``settings.processes`` is the number of processes (of each lane), and
    ``settings.budget`` (seconds) that of this call. What goes wrong with a case or a worker becomes the failure of the
    expectations that need it; only a ``KeyboardInterrupt`` (and a fault of this code) comes out. Call it in the main
    thread.
    """
    wanted = [expectation for expectation in expectations if expectation.skip is None]
    watch = Watch(settings.gpu)
    try:
        return _Stage(wanted, specs, settings, progress or Progress(), journal, clock, watch).run()
    finally:
        watch.close()


@dataclass
class _Stage:
    expectations: list[Expectation]
    specs: Mapping[str, CaseSpec]
    settings: Settings
    progress: Progress
    journal: Journal | None
    clock: Callable[[], float]
    watch: Watch
    groups: tuple[Group, ...] = ()
    samples: dict[tuple[str, int, Entrant], Sample | Once] = field(default_factory=dict)  # by group and process
    failures: dict[Entrant, Failure] = field(default_factory=dict)
    started: set[Lane] = field(default_factory=set)
    startups: list[float] = field(default_factory=list)
    workers: dict[Lane, Worker] = field(default_factory=dict)
    left: list[tuple[int, str]] = field(default_factory=list)  # process and group's name: still to be done
    seen: dict[str, float] = field(default_factory=dict)
    begin: float = 0.0

    def run(self) -> dict[str, Observed]:
        self.begin = self.clock()
        self.groups = expectation_plan.groups(self.expectations)
        planned = [
            (process, expectation_plan.order(self.groups, process, self.settings.seed))
            for process in range(1, self.settings.processes + 1)
        ]
        self.left = [(process, group.id) for process, ordered in planned for group in ordered]
        total = len(self.left)
        for process, ordered in planned:
            try:
                for group in ordered:
                    self._group(group, process, total)
            finally:
                self._close(self.workers)
        return {each.id: self._observed(each) for each in self.expectations}

    def _group(self, group: Group, process: int, total: int) -> None:
        """One group in one process, without those who failed before or have no worker."""
        while (left := group.without(self.failures)).worth_it:
            if self._spends_budget(group.id):
                return  # and it stays among those that are left
            if self._start(left, process):
                done = total - len(self.left)
                self.progress.started(left.name, process, done, total, self._seconds_left())
                begin = self.clock()
                self._measure(group.id, left, process)
                self.seen[group.id] = self.clock() - begin
                break
        self.left.remove((process, group.id))

    def _spends_budget(self, name: str) -> bool:
        """Whether the group would end after the budget, as far as is known from earlier processes."""
        if self.settings.budget is None:
            return False
        return self.clock() - self.begin + self.seen.get(name, 0.0) >= self.settings.budget

    def _start(self, group: Group, process: int) -> bool:
        """Has a worker for each lane of the group; False where there is none to be had, after its entrants failed."""
        lanes = tuple(dict.fromkeys(each.lane for each in group.entrants))  # in the order drawn
        missing = [lane for lane in lanes if not (lane in self.workers and self.workers[lane].alive)]
        if len(self.workers) + len(missing) > _MOST_WORKERS:
            self._close([lane for lane in self.workers if lane not in lanes])
        for lane in missing:
            self._close([lane])
            # One that started before in this session gets a second chance: then it was the moment, not the set-up.
            chances = 2 if lane in self.started else 1
            try:
                told = partial(self.progress.starting, lane.device, process)
                started = start_again(chances, told, lane.side, lane.device, self.settings, self.clock)
            except CaseError as error:
                for each in {each for group in self.groups for each in group.entrants if each.lane == lane}:
                    self._fail(each, error.failure)
                return False
            self.workers[lane] = started.worker
            self.startups.append(started.seconds)
            self.started.add(lane)
        return True

    def _measure(self, name: str, group: Group, process: int) -> None:
        if not group.timed:
            for each in group.entrants:
                self._once(name, each, process)
            return
        asks = {lane: self.watch.over(worker, lane.device) for lane, worker in self.workers.items()}
        before = {  # the first of each
            each: one for (_, _, each), one in reversed(self.samples.items()) if isinstance(one, Sample)
        }
        try:
            samples, failures = expectation_sampling.sample_group(
                asks, group, self.specs, process, before=before, time_limit=self.settings.time_limit
            )
        except EntrantLost as lost:
            self._fail(lost.entrant, lost.failure)
            self._close(self.workers)  # what the others still hold open belongs to a group that is over
            return
        for each, failure in failures.items():
            self._fail(each, failure)
        for each, sample in samples.items():
            if sample.conditions is not None and sample.conditions.blocks_void:
                self.progress.repeated(each.key, sample.conditions.blocks_void)
        self.samples |= {(name, process, each): sample for each, sample in samples.items()}
        if self.journal is not None:
            self.journal.together(process, {f"{each.key} {each.lane.words}": one for each, one in samples.items()})

    def _once(self, name: str, each: Entrant, process: int) -> None:
        worker = self.workers[each.lane]
        if not worker.alive:
            return  # lost over the one before; the next process has another
        try:
            once = expectation_sampling.sample_once(worker.request, each, self.specs[each.key])
        except CaseError as error:
            self._fail(each, error.failure)
            return
        self.samples[name, process, each] = once
        if self.journal is not None:
            self.journal.once(process, each.key, once)

    def _close(self, lanes: Sequence[Lane] | Mapping[Lane, Worker]) -> None:
        for lane in list(lanes):
            if (worker := self.workers.pop(lane, None)) is not None:
                worker.close()

    def _fail(self, each: Entrant, failure: Failure) -> None:
        if each in self.failures:
            return
        self.failures[each] = failure
        if self.journal is not None:
            self.journal.failure(each.key, failure)
        self.progress.failed(each.key, failure)

    def _seconds_left(self) -> float | None:
        seconds = schedule.seconds_left([name for _, name in self.left], self.seen)
        if seconds is None:
            return None
        return seconds + (len({process for process, _ in self.left}) - 1) * statistics.fmean(self.startups)

    def _observed(self, expectation: Expectation) -> Observed:
        found: dict[int, tuple[Observation, ...]] = {}
        failure = None
        late: set[str] = set()
        for size in expectation.sizes:
            pair = expectation_plan.meeting(expectation, size)
            failure = failure or next((self.failures[each] for each in pair if each in self.failures), None)
            name = next(
                group.id
                for group in self.groups
                if pair in group.pairs and group.timed == expectation_plan.is_timed(expectation)
            )
            late |= {name} & {name for _, name in self.left}
            seen = []
            for process in range(1, self.settings.processes + 1):
                first, second = (self.samples.get((name, process, each)) for each in pair)
                if (observation := _observation(expectation.metric, process, first, second)) is not None:
                    seen.append(observation)
            found[size] = tuple(seen)
        return Observed(found, failure, bool(late))


def _observation(
    metric: Metric, process: int, first: Sample | Once | None, second: Sample | Once | None
) -> Observation | None:
    """``None`` where one of the two was not measured in this process, or has no such quantity."""
    if isinstance(first, Sample) and isinstance(second, Sample):
        per_step = [[s / sample.steps_per_round for s in sample.seconds_per_round] for sample in (first, second)]
        ratio = statistics.median(math.log(a / b) for a, b in zip(*per_step, strict=True))
        steady = first.steady and second.steady
        return _kept(process, ratio, first.seconds_per_step, second.seconds_per_step, steady)
    if not isinstance(first, Once) or not isinstance(second, Once):
        return None
    if metric is Metric.FIRST_CALL:
        a, b = first.first_call_seconds, second.first_call_seconds
    elif first.bytes_peak is None or second.bytes_peak is None:
        return None
    else:
        a, b = float(max(first.bytes_peak, _PAGE)), float(max(second.bytes_peak, _PAGE))
    return _kept(process, math.log(a / b), a, b)


def _kept(process: int, log_ratio: float, first: float, second: float, steady: bool = True) -> Observation:
    return Observation(process, kept(log_ratio), kept(first), kept(second), steady)
