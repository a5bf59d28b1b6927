"""Which kernels Keras would pick on a GPU host: a worker is started, asked for the table and ended."""

from __future__ import annotations

from collections.abc import Iterable

from perf.harness.environment import Side
from perf.harness.measure import Settings
from perf.harness.selection import ask
from perf.harness.selection_records import Selection
from perf.harness.suite import Suite
from perf.harness.workers import Worker

#: Tracing the whole table takes some 10 s of CPU under Keras 3, a minute under Keras 2.15; more on a busy machine.
TRACING_SECONDS = 300.0


def trace(side: Side, suite: Suite, groups: Iterable[str], settings: Settings) -> Selection:
    """The table of ``groups`` in the environment of ``side``, from a worker on the CPU.

    Raises :class:`perf.harness.replies.CaseError`, and leaves no process behind.
    """
    limit = max(settings.time_limit, TRACING_SECONDS)
    with Worker.start(side, "cpu", settings.module, settings.root, limit) as worker:
        return ask(worker, {group: suite.selection[group] for group in groups})
