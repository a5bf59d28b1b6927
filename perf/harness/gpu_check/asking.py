"""Workers within a time limit: who asks one is told when the time is over, and how long each request took."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from perf.harness.environment import Side
from perf.harness.gpu_reading import GpuReader, Reading
from perf.harness.measure import Settings
from perf.harness.records import Environment
from perf.harness.replies import CaseError
from perf.harness.sampling import Ask
from perf.harness.starting import start
from perf.harness.watch import Watch
from perf.harness.workers import Worker


class Late(Exception):
    """The time limit of the whole ended."""


@dataclass
class Asking:
    """The workers, the instruments and the clock of one look at a host. ``settings.budget`` is the limit of the whole
    in seconds, ``settings.time_limit`` that of a request; the shorter one counts."""

    settings: Settings
    clock: Callable[[], float]
    open_reader: Callable[[str], GpuReader] = GpuReader.open
    longest: tuple[float, str] = (0.0, "")
    reading_seconds: list[float] = field(default_factory=list)
    _workers: list[Worker] = field(default_factory=list)
    _reader: GpuReader | None = None

    def __post_init__(self) -> None:
        assert self.settings.gpu is not None
        self._begin = self.clock()
        self._watch = Watch(self.settings.gpu, counts_energy=True, open_reader=self.open_reader)

    @property
    def spent(self) -> float:
        """Seconds since the beginning."""
        return self.clock() - self._begin

    @property
    def left(self) -> float:
        """Seconds for the next request; raises :class:`Late` where there are none."""
        budget = self.settings.budget
        if budget is None:
            return self.settings.time_limit
        if (rest := budget - self.spent) <= 0:
            raise Late
        return min(rest, self.settings.time_limit)

    def start(self, device: str) -> tuple[Worker, Environment]:
        """A warm worker. Raises :class:`CaseError`, or :class:`Late` where it would not have been warm in time."""
        try:
            started = start(Side(), device, replace(self.settings, time_limit=self.left), self.clock)
        except CaseError:
            self._refuse_late()
            raise
        self._workers.append(started.worker)
        return started.worker, started.environment

    def of(self, worker: Worker, device: str) -> Ask:
        """Requests of that worker, those on the GPU watched. Raises :class:`CaseError` and :class:`Late`."""
        watched = self._watch.over(worker, device)

        def ask(op: str, **fields: Any) -> Mapping[str, Any]:
            worker.limit(self.left)
            begin = self.clock()
            try:
                return watched(op, **fields)
            except CaseError:
                self._refuse_late()
                raise
            finally:
                self.longest = max(self.longest, (self.clock() - begin, op))

        return ask

    def read(self) -> Reading:
        """The GPU now; raises :class:`perf.harness.gpu_reading.GpuLost`."""
        if self._reader is None:
            assert self.settings.gpu is not None
            self._reader = self.open_reader(self.settings.gpu)
        begin = self.clock()
        found = self._reader.read()
        self.reading_seconds.append(self.clock() - begin)
        return found

    def end(self, worker: Worker) -> None:
        worker.close()
        self._workers.remove(worker)

    def close(self) -> None:
        """Ends all workers, and with them what they held."""
        for worker in list(self._workers):
            self.end(worker)
        self._watch.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _refuse_late(self) -> None:
        """What failed because its time was cut short did not fail."""
        if self.settings.budget is not None and self.spent >= self.settings.budget:
            raise Late
