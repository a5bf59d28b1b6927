"""Rounds of an open case, of one side or of two that take turns: how many calls, until steady, until known.

What runs the rounds is a :data:`Run`: asked for so many rounds of so many calls, it answers with one
:class:`~perf.harness.replies.Timed` for each side, whose rounds belong together. The rules are the same for one side
and for two; the slower one decides how long a round is, and with two it is their ratio that must be known.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from perf.harness import conditions, rounds
from perf.harness.replies import Timed

Run = Callable[[int, int], tuple[Timed, ...]]


@dataclass(frozen=True, slots=True)
class Settled:
    """A case after its warm-up; ``steady`` by side, ``seconds_per_round`` of the slower side."""

    steady: tuple[bool, ...]
    rounds_discarded: int
    seconds_per_round: float


def warm_up(run: Run, calls: int | None, margin: float, time_limit: float) -> tuple[int, Settled]:
    """Calls per round and what became of the warm-up; ``calls`` are chosen where the case runs for the first time.

    ``margin`` is the smallest change that matters (0.05), ``time_limit`` (seconds) that of a request.
    """
    if calls is not None:
        return calls, settle(run, calls, _slowest(run(1, calls)), margin, time_limit)
    calls, seconds = choose_calls(run)
    settled = settle(run, calls, seconds, margin, time_limit)
    if settled.seconds_per_round < rounds.ROUND_SECONDS:  # it became faster while it warmed up
        calls = rounds.calls_for(settled.seconds_per_round / calls)
        settled = settle(run, calls, rounds.ROUND_SECONDS, margin, time_limit)
    return calls, settled


def choose_calls(run: Run) -> tuple[int, float]:
    """Calls per round for a case that runs for the first time, and about the seconds of such a round."""
    calls, seconds = 1, _slowest(run(1, 1))
    if seconds > rounds.SLOW_ROUND_SECONDS:
        return calls, seconds
    for _ in range(4):
        seconds = _slowest(run(3, calls))
        wanted = rounds.calls_for(seconds / calls)
        if seconds >= rounds.ROUND_SECONDS or wanted <= calls:
            break
        calls, seconds = wanted, seconds / calls * wanted
    return calls, seconds


def settle(run: Run, calls: int, seconds_per_round: float, margin: float, time_limit: float) -> Settled:
    """Discards windows of rounds until two successive ones agree, or until it is clear that they will not.

    With two sides each has to agree with itself once. Not both at once: windows of noisy rounds disagree now and then
    by chance, and asking for both together would call many more cases unsteady.
    """
    size = rounds.window(seconds_per_round)
    seen = [_in_requests(run, size, calls, seconds_per_round, time_limit)]
    steady = [False] * len(seen[0])
    discarded = _longest(seen[0])
    while not all(steady) and not rounds.never_steady(len(seen), len(seen) * size, discarded):
        seen.append(_in_requests(run, size, calls, _slowest(seen[-1]), time_limit))
        discarded += _longest(seen[-1])
        steady = [
            known or rounds.agree(before.seconds, after.seconds, margin)
            for known, before, after in zip(steady, seen[-2], seen[-1], strict=True)
        ]
    return Settled(tuple(steady), len(seen) * size, _slowest(seen[-1]))


def time_rounds(
    run: Run, calls: int, seconds_per_round: float, margin: float, time_limit: float, seconds_at_least: float = 0.0
) -> tuple[Timed, ...]:
    """The rounds that count, until what is sought is known well enough (:func:`perf.harness.rounds.more_rounds`), and
    ``seconds_at_least`` for what is counted besides the times."""
    timed: tuple[Timed, ...] = ()
    while more := _more(timed, seconds_per_round, margin) or _until(seconds_at_least, timed):
        part = run(min(more, rounds.per_request(seconds_per_round, time_limit)), calls)
        timed = joined((timed, part)) if timed else part
    return timed


def _more(timed: tuple[Timed, ...], seconds_per_round: float, margin: float) -> int:
    if not timed:
        return rounds.more_rounds((), seconds_per_round, margin)
    slower = max((side.seconds for side in timed), key=sum)
    if len(timed) == 1:
        return rounds.more_rounds(slower, seconds_per_round, margin)
    first, second = timed
    ratios = [two / one for one, two in zip(first.seconds, second.seconds, strict=True)]
    return rounds.more_rounds(slower, seconds_per_round, margin, ratios)


def _until(seconds_at_least: float, timed: tuple[Timed, ...]) -> int:
    """How many more rounds until so many seconds are timed."""
    left = seconds_at_least - _longest(timed)
    return math.ceil(left / _slowest(timed)) if left > 0 else 0


def _in_requests(run: Run, count: int, calls: int, seconds_per_round: float, time_limit: float) -> tuple[Timed, ...]:
    """So many rounds, in as few requests as the time limit allows."""
    parts: list[tuple[Timed, ...]] = []
    done = 0
    while done < count:
        parts.append(run(min(count - done, rounds.per_request(seconds_per_round, time_limit)), calls))
        done += len(parts[-1][0].seconds)
    return joined(parts)


def joined(parts: Sequence[tuple[Timed, ...]]) -> tuple[Timed, ...]:
    """What was asked for in parts, as if it had been asked for at once."""
    return tuple(
        Timed(
            seconds=tuple(seconds for part in side for seconds in part.seconds),
            call_seconds=tuple(seconds for part in side for seconds in part.call_seconds),
            traces=sum(part.traces for part in side),
            conditions=conditions.merged(part.conditions for part in side),
        )
        for side in zip(*parts, strict=True)
    )


def _slowest(timed: tuple[Timed, ...]) -> float:
    """Median seconds of a round, of the slower side."""
    return max(statistics.median(side.seconds) for side in timed)


def _longest(timed: tuple[Timed, ...]) -> float:
    return max(sum(side.seconds) for side in timed)
