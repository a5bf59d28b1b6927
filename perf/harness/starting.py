"""A worker that answers and is warm, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perf.harness.environment import Side
from perf.harness.records import Environment
from perf.harness.replies import CaseError
from perf.harness.workers import Worker

if TYPE_CHECKING:
    from perf.harness.measure import Settings


@dataclass(frozen=True, slots=True)
class Started:
    """``seconds`` are from starting the worker to its first answer, the import of the framework included."""

    worker: Worker
    environment: Environment
    seconds: float


def start(side: Side, device: str, settings: Settings, clock: Callable[[], float]) -> Started:
    """Starts a worker, asks what it runs with, and brings its framework up with what is not timed.

    Raises :class:`CaseError`, and leaves no process behind.
    """
    begin = clock()
    worker = Worker.start(side, device, settings.module, settings.root, settings.time_limit, settings.gpu)
    try:
        environment = worker.describe()
        seconds = clock() - begin
        worker.request("warm_up")
    except BaseException:
        worker.close()
        raise
    return Started(worker, environment, seconds)


def start_again(
    chances: int, told: Callable[[], None], side: Side, device: str, settings: Settings, clock: Callable[[], float]
) -> Started:
    """:func:`start` with so many ``chances``; ``told`` is called before each. Raises the last :class:`CaseError`."""
    while True:
        told()
        chances -= 1
        try:
            return start(side, device, settings, clock)
        except CaseError:
            if chances <= 0:
                raise
