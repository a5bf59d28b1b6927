"""One case in one process: open, prove, wait for the steady state, time. Knows requests, not processes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from perf.harness import replies, rounds
from perf.harness.records import CaseSpec, Facts, Sample
from perf.harness.replies import CaseError, Timed


class Ask(Protocol):
    """Sends a worker one request and returns its reply; raises :class:`~perf.harness.replies.CaseError`."""

    def __call__(self, op: str, **fields: Any) -> Mapping[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Settled:
    """A case after its warm-up."""

    steady: bool
    rounds_discarded: int
    seconds_per_round: float


def sample(
    ask: Ask, spec: CaseSpec, process: int, *, before: Sample | None, margin: float, time_limit: float
) -> Sample:
    """All timed rounds of ``spec`` in the process behind ``ask``; the case is closed by the caller.

    ``before`` is the case's first sample of this session: its calls per round are used again, and its facts must
    hold. ``margin`` is the smallest change that matters (0.05), ``time_limit`` (seconds) that of a request.
    Raises :class:`CaseError` where nothing can be timed under the case's name.
    """
    opened = replies.opened(ask("open", case=dict(spec.payload)))
    replies.check_proof(spec, opened.facts)
    if before is not None:
        replies.check_same(spec, before.facts, opened.facts, process)

    def run(count: int, calls: int) -> Timed:
        reply = ask("run", rounds=count, calls=calls)
        return replies.timed(reply, count, calls, spec.keeps_calls)

    if before is not None:
        calls = before.calls_per_round
        settled = settle(_windows(run, calls, time_limit), run(1, calls).seconds[0], margin)
    else:
        calls, seconds = choose_calls(run)
        settled = settle(_windows(run, calls, time_limit), seconds, margin)
        if settled.seconds_per_round < rounds.ROUND_SECONDS:  # it became faster while it warmed up
            calls = rounds.calls_for(settled.seconds_per_round / calls)
            settled = settle(_windows(run, calls, time_limit), rounds.ROUND_SECONDS, margin)
    timed = _time(run, calls, settled.seconds_per_round, margin, time_limit)
    if timed.traces > 0:
        raise CaseError(
            "traces",
            f"{spec.key}: TensorFlow traced the function anew {timed.traces} times during the timed rounds, after "
            f"{settled.rounds_discarded} untimed ones, so that times of tracing and of running are mixed and none is "
            "kept. Something that a call is given changes from call to call: a Python value, a shape or a dtype.",
        )
    return _record(spec, process, calls, settled, timed, opened.first_call_seconds, opened.bytes_peak, opened.facts)


def choose_calls(run: Callable[[int, int], Timed]) -> tuple[int, float]:
    """Calls per round for a case that runs for the first time, and about the seconds of such a round."""
    calls, seconds = 1, run(1, 1).seconds[0]
    if seconds > rounds.SLOW_ROUND_SECONDS:
        return calls, seconds
    for _ in range(4):
        seconds = statistics.median(run(3, calls).seconds)
        wanted = rounds.calls_for(seconds / calls)
        if seconds >= rounds.ROUND_SECONDS or wanted <= calls:
            break
        calls, seconds = wanted, seconds / calls * wanted
    return calls, seconds


def settle(window: Callable[[int, float], tuple[float, ...]], seconds_per_round: float, margin: float) -> Settled:
    """Discards windows of rounds until two successive ones agree, or until it is clear that they will not."""
    size = rounds.window(seconds_per_round)
    seen = [window(size, seconds_per_round)]
    steady = False
    while not steady and not rounds.never_steady(len(seen), len(seen) * size, sum(map(sum, seen))):
        seen.append(window(size, statistics.median(seen[-1])))
        steady = rounds.agree(seen[-2], seen[-1], margin)
    return Settled(steady, len(seen) * size, statistics.median(seen[-1]))


def _windows(
    run: Callable[[int, int], Timed], calls: int, time_limit: float
) -> Callable[[int, float], tuple[float, ...]]:
    """Runs so many rounds, in as few requests as the time limit allows."""

    def window(size: int, seconds_per_round: float) -> tuple[float, ...]:
        seconds: list[float] = []
        while len(seconds) < size:
            count = min(size - len(seconds), rounds.per_request(seconds_per_round, time_limit))
            seconds += run(count, calls).seconds
        return tuple(seconds)

    return window


def _time(
    run: Callable[[int, int], Timed], calls: int, seconds_per_round: float, margin: float, time_limit: float
) -> Timed:
    seconds: list[float] = []
    call_seconds: list[float] = []
    traces = 0
    while more := rounds.more_rounds(seconds, seconds_per_round, margin):
        part = run(min(more, rounds.per_request(seconds_per_round, time_limit)), calls)
        seconds += part.seconds
        call_seconds += part.call_seconds
        traces += part.traces
    return Timed(tuple(seconds), tuple(call_seconds), traces)


def _record(
    spec: CaseSpec,
    process: int,
    calls: int,
    settled: Settled,
    timed: Timed,
    first_call_seconds: float,
    bytes_peak: int | None,
    facts: Facts,
) -> Sample:
    return Sample(
        process=process,
        calls_per_round=calls,
        steps_per_call=spec.steps_per_call,
        seconds_per_round=timed.seconds,
        rounds_discarded=settled.rounds_discarded,
        steady=settled.steady,
        first_call_seconds=first_call_seconds,
        bytes_peak=bytes_peak,
        timed_traces=timed.traces,
        facts=facts,
        seconds_per_call=timed.call_seconds,
    )
