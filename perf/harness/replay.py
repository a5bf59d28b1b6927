"""Hands measured rounds to pytest-benchmark, so that its files, tables and ``compare`` work on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from perf.harness.runs import BLOCK
from perf.harness.session import Statement

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture


def replay_timer(seconds_per_round: Sequence[float]) -> Callable[[], float]:
    """A timer for ``benchmark.pedantic``: between its first and its second reading one measured round passes.

    pytest-benchmark reads its timer once before and once after each round, so the rounds it records are exactly the
    ones given, in their order. Each starts at 0: a running sum would round the later ones to the sum's last digit.
    """
    readings = iter([reading for seconds in seconds_per_round for reading in (0.0, seconds)])

    def worker_stopwatch() -> float:
        return next(readings)

    return worker_stopwatch


@dataclass(frozen=True, slots=True)
class MeasuredCase:
    """What a test states: the case's result and, when a comparison was asked for, its verdict."""

    statement: Statement
    fail: Callable[[str], NoReturn]

    def replay(self, benchmark: BenchmarkFixture) -> None:
        """Gives all rounds of all processes to pytest-benchmark; nothing is run here."""
        if self.statement.result.failure is not None:
            # Says that the fixture was not forgotten: else pytest-benchmark's warning counts the case a second time.
            benchmark._mode = "failed before it could be timed"
            benchmark.has_error = True
            return
        rounds = [seconds for sample in self.statement.result.samples for seconds in sample.seconds_per_round]
        benchmark._timer = replay_timer(rounds)
        benchmark.extra_info[BLOCK] = self.statement.encoded
        # pytest-benchmark divides by the iterations; how many steps are in a round is chosen once per case.
        benchmark.pedantic(  # type: ignore[no-untyped-call]
            lambda: None,
            rounds=len(rounds),
            iterations=self.statement.result.samples[0].steps_per_round,
        )

    def check(self) -> None:
        """Fails the test where the case failed or its verdict is red, with a message to act on."""
        if self.statement.result.failure is not None:
            self.fail(f"{self.statement.result.spec.key}: {self.statement.result.failure.message}")
        if self.statement.judgement is not None and self.statement.judgement.verdict.is_red:
            self.fail(self.statement.judgement.reason)
