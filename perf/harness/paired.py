"""The paired measuring stage: every selected case in every pair of processes, two workers alive at a time."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from perf.harness import paired_sampling, schedule, starting
from perf.harness.environment import Side
from perf.harness.journal import Journal
from perf.harness.measure import LOST_IN_A_ROW, Progress, Settings
from perf.harness.paired_records import (
    BASELINE,
    CANDIDATE,
    SIDES,
    PairedMeasured,
    PairedResult,
    PairSample,
    SideName,
    other,
)
from perf.harness.paired_sampling import NotComparable, SideError
from perf.harness.records import CaseSpec, Environment, Failure
from perf.harness.replies import CaseError
from perf.harness.starting import Starting, start_again
from perf.harness.watch import Watch
from perf.harness.workers import Worker


def measure_pairs(
    specs: Sequence[CaseSpec],
    settings: Settings,
    baseline: Side,
    candidate: Side,
    pairs: int | Mapping[str, int],
    progress: Progress | None = None,
    journal: Journal | None = None,
    *,
    first_pair: int = 1,
    clock: Callable[[], float] = time.monotonic,
) -> PairedMeasured:
    """Measures all ``specs`` that are not skipped on both sides, and always ends what it started.

    ``pairs`` of processes for all cases, or by case key; they count from ``first_pair``, and another one draws another
    order from the same seed. ``settings.processes`` is not used; ``settings.budget`` (seconds) is that of this call.
    What goes wrong with a case or a worker becomes the failure of that case, with its side, and the session goes on;
    only a ``KeyboardInterrupt`` (and a fault of this code) comes out. Call it in the main thread.
    """
    selected = [spec for spec in specs if spec.skip is None]
    wanted = {spec.key: pairs if isinstance(pairs, int) else pairs[spec.key] for spec in selected}
    sides = {BASELINE: baseline, CANDIDATE: candidate}
    watch = Watch(settings.gpu)
    stage = _Stage(selected, settings, sides, wanted, progress or Progress(), journal, first_pair, clock, watch)
    try:
        return stage.run()
    finally:
        watch.close()


@dataclass
class _Stage:
    specs: list[CaseSpec]
    settings: Settings
    sides: dict[SideName, Side]
    wanted: dict[str, int]  # pairs by case key
    progress: Progress
    journal: Journal | None
    first_pair: int
    clock: Callable[[], float]
    watch: Watch
    results: dict[str, PairedResult] = field(default_factory=dict)
    environments: dict[tuple[SideName, str], Environment] = field(default_factory=dict)
    startups: dict[tuple[SideName, str], list[float]] = field(default_factory=dict)
    lost_in_a_row: dict[str, int] = field(default_factory=dict)
    seen: dict[str, float] = field(default_factory=dict)
    left: list[tuple[int, str, str]] = field(default_factory=list)  # pair, device, case key: still to be done
    begin: float = 0.0
    over_budget: bool = False

    def run(self) -> PairedMeasured:
        self.begin = self.clock()
        self.results = {spec.key: PairedResult(spec, ()) for spec in self.specs}
        seed = self.settings.seed + self.first_pair - 1
        most = max(self.wanted.values(), default=0)
        planned = [
            schedule.Block(block.process, block.device, specs)
            for block in schedule.blocks(self.specs, most, seed)
            if (specs := tuple(spec for spec in block.specs if block.process <= self.wanted[spec.key]))
        ]
        self.left = [(block.process, block.device, spec.key) for block in planned for spec in block.specs]
        total = len(self.left)
        starters = schedule.starters(most, seed)
        for block in planned:
            self._block(block, starters[block.process - 1], total)
        return PairedMeasured(
            results=self.results,
            environments=self.environments,
            startup_seconds={where: tuple(seconds) for where, seconds in self.startups.items()},
            unfinished=tuple(dict.fromkeys(key for _, _, key in self.left)),
            seed=self.settings.seed,
            seconds=self.clock() - self.begin,
        )

    def _block(self, block: schedule.Block, first: SideName, total: int) -> None:
        """One pair of processes of one device; more workers only where one is lost."""
        workers: dict[SideName, Worker] = {}
        try:
            for spec in block.specs:
                if self._ended(spec.key):
                    continue
                if self._spends_budget(spec.key, block.device, workers):
                    return
                if not self._start_missing(block, first, workers):
                    return
                done = total - len(self.left)
                self.progress.started(spec.key, self._number(block), done, total, self._seconds_left())
                self._case(workers, spec, block, first)
        finally:
            for worker in workers.values():
                worker.close()

    def _number(self, block: schedule.Block) -> int:
        """Of the block's pair in its session."""
        return self.first_pair + block.process - 1

    def _ended(self, key: str) -> bool:
        result = self.results[key]
        return result.failure is not None or result.not_comparable is not None

    def _spends_budget(self, key: str, device: str, workers: Mapping[SideName, Worker]) -> bool:
        """Whether the case would end after the budget, as far as is known from what was measured; then all is over."""
        if self.settings.budget is None or self.over_budget:
            return self.over_budget
        expected = schedule.seconds_left([key], self.seen) or 0.0
        usual = [
            statistics.fmean(starts)
            for side in SIDES
            if (starts := self.startups.get((side, device))) and not (side in workers and workers[side].alive)
        ]
        expected += max(usual, default=0.0)  # both start at once
        self.over_budget = self.clock() - self.begin + expected >= self.settings.budget
        return self.over_budget

    def _start_missing(self, block: schedule.Block, first: SideName, workers: dict[SideName, Worker]) -> bool:
        """Puts the workers that are not there into ``workers``; False when one is not to be had.

        Both import their frameworks at the same time, which takes longer than most cases and disturbs none.
        """
        missing = [side for side in (first, other(first)) if not (side in workers and workers[side].alive)]
        begun: dict[SideName, Starting] = {}
        try:
            if len(missing) == len(SIDES) and not self.lost_in_a_row.get(block.device, 0):
                self.progress.starting(block.device, self._number(block))
                for side in missing:
                    with contextlib.suppress(CaseError):  # tried again, and said, when its turn comes
                        begun[side] = starting.begin(self.sides[side], block.device, self.settings, self.clock)
            return all(self._start(block, side, workers, begun.pop(side, None)) for side in missing)
        finally:
            for left in begun.values():
                left.worker.close()

    def _start(
        self, block: schedule.Block, side: SideName, workers: dict[SideName, Worker], begun: Starting | None
    ) -> bool:
        """Puts a worker that answered into ``workers``; False when there is none to be had, after its cases failed."""
        device, where = block.device, (side, block.device)
        if self.lost_in_a_row.get(device, 0) >= LOST_IN_A_ROW:
            message = f"{LOST_IN_A_ROW} workers in a row were lost on {device}; the rest was not tried."
            self._give_up(device, Failure("worker", message), None)
            return False
        # One that started before in this session gets a second chance: then it was the moment, not the set-up.
        chances = 2 if where in self.environments else 1
        try:
            started = start_again(
                chances, lambda: self.progress.starting(device, self._number(block)), self.sides[side], device,
                self.settings, self.clock, begun,
            )  # fmt: skip
        except CaseError as error:
            self._give_up(device, error.failure, side)
            return False
        workers[side] = started.worker
        self.startups.setdefault(where, []).append(started.seconds)
        self.environments.setdefault(where, started.environment)
        return True

    def _case(self, workers: Mapping[SideName, Worker], spec: CaseSpec, block: schedule.Block, first: SideName) -> None:
        begin = self.clock()
        earlier = self.results[spec.key].pairs
        found: PairSample | SideError | NotComparable
        try:
            found = paired_sampling.sample_pair(
                {side: self.watch.over(worker, spec.device) for side, worker in workers.items()},
                spec,
                self._number(block),
                first,
                before=earlier[0] if earlier else None,
                margin=self.settings.margin,
                time_limit=self.settings.time_limit,
            )
        except (SideError, NotComparable) as error:
            found = error
        for side, worker in workers.items():  # also the side that did nothing wrong has it open
            try:
                if worker.alive:
                    worker.request("close")
            except CaseError as error:
                found = found if isinstance(found, SideError) else SideError(side, error.failure)
        if isinstance(found, SideError):
            self._fail(spec.key, found.failure, found.side)
        elif isinstance(found, NotComparable):
            self._not_comparable(spec.key, str(found))
        else:
            self._keep(spec, block, found)
        self.seen[spec.key] = self.clock() - begin
        alive = all(worker.alive for worker in workers.values())
        self.lost_in_a_row[spec.device] = 0 if alive else self.lost_in_a_row.get(spec.device, 0) + 1

    def _keep(self, spec: CaseSpec, block: schedule.Block, pair: PairSample) -> None:
        self.results[spec.key] = PairedResult(spec, (*self.results[spec.key].pairs, pair))
        self.left.remove((block.process, spec.device, spec.key))
        if self.journal is not None:
            self.journal.pair(spec.key, pair)

    def _give_up(self, device: str, failure: Failure, side: SideName | None) -> None:
        """All cases of the device fail that have not ended yet: they cannot be measured in all pairs."""
        for spec in self.specs:
            if spec.device == device and not self._ended(spec.key):
                self._fail(spec.key, failure, side)

    def _fail(self, key: str, failure: Failure, side: SideName | None) -> None:
        result = self.results[key]
        self.results[key] = PairedResult(result.spec, result.pairs, failure, side)
        self._forget(key)
        if self.journal is not None:
            self.journal.failure(key, failure, side)
        self.progress.failed(key, failure)

    def _not_comparable(self, key: str, reason: str) -> None:
        result = self.results[key]
        self.results[key] = PairedResult(result.spec, result.pairs, not_comparable=reason)
        self._forget(key)
        if self.journal is not None:
            self.journal.not_comparable(key, reason)

    def _forget(self, key: str) -> None:
        self.left = [slot for slot in self.left if slot[2] != key]

    def _seconds_left(self) -> float | None:
        seconds = schedule.seconds_left([key for _, _, key in self.left], self.seen)
        if seconds is None:
            return None
        # The pair that is about to measure has been started already.
        starts = len({(pair, device) for pair, device, _ in self.left}) - 1
        usual = statistics.fmean(value for values in self.startups.values() for value in values)
        return seconds + starts * usual
