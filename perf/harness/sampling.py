"""One case in one process: open, prove, wait for the steady state, time. Knows requests, not processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from perf.harness import replies, timing
from perf.harness.records import CaseSpec, Sample
from perf.harness.replies import CaseError, Opened, Timed


class Ask(Protocol):
    """Sends a worker one request and returns its reply; raises :class:`~perf.harness.replies.CaseError`."""

    def __call__(self, op: str, **fields: Any) -> Mapping[str, Any]: ...


def sample(
    ask: Ask,
    spec: CaseSpec,
    process: int,
    *,
    before: Sample | None,
    margin: float,
    time_limit: float,
    seconds_at_least: float = 0.0,
) -> Sample:
    """All timed rounds of ``spec`` in the process behind ``ask``; the case is closed by the caller.

    ``before`` is the case's first sample of this session: its calls per round are used again, and its facts must
    hold. ``margin`` is the smallest change that matters (0.05), ``time_limit`` (seconds) that of a request,
    ``seconds_at_least`` are timed whatever the margin.
    Raises :class:`CaseError` where nothing can be timed under the case's name.
    """
    opened = open_case(ask, spec)
    if before is not None:
        replies.check_same(spec, before.facts, opened.facts, process)

    def run(count: int, calls: int) -> tuple[Timed, ...]:
        return (run_rounds(ask, spec, count, calls),)

    calls, settled = timing.warm_up(run, before.calls_per_round if before else None, margin, time_limit)
    (timed,) = timing.time_rounds(run, calls, settled.seconds_per_round, margin, time_limit, seconds_at_least)
    return record(spec, process, calls, opened, timed, settled.rounds_discarded, settled.steady[0])


def open_case(ask: Ask, spec: CaseSpec) -> Opened:
    """Opens ``spec``; raises :class:`CaseError` where another kernel or device ran than asked for."""
    opened = replies.opened(ask("open", case=dict(spec.payload)))
    replies.check_proof(spec, opened.facts)
    return opened


def run_rounds(ask: Ask, spec: CaseSpec, count: int, calls: int) -> Timed:
    """So many rounds of the open case, in one request."""
    return replies.timed(ask("run", rounds=count, calls=calls), count, calls, spec.keeps_calls)


def record(
    spec: CaseSpec, process: int, calls: int, opened: Opened, timed: Timed, rounds_discarded: int, steady: bool
) -> Sample:
    """What was measured as a :class:`Sample`; raises :class:`CaseError` where the timed rounds hold tracing."""
    if timed.traces > 0:
        raise CaseError(
            "traces",
            f"{spec.key}: The framework traced the function anew {timed.traces} times during the timed rounds, after "
            f"{rounds_discarded} untimed ones, so that times of tracing and of running are mixed and none is "
            "kept. Something that a call is given changes from call to call: a Python value, a shape or a dtype.",
        )
    return Sample(
        process=process,
        calls_per_round=calls,
        steps_per_call=spec.steps_per_call,
        seconds_per_round=timed.seconds,
        rounds_discarded=rounds_discarded,
        steady=steady,
        first_call_seconds=opened.first_call_seconds,
        bytes_peak=opened.bytes_peak,
        timed_traces=timed.traces,
        facts=opened.facts,
        seconds_per_call=timed.call_seconds,
        device_bytes_peak=opened.device_bytes_peak,
        conditions=timed.conditions,
    )
