"""Which of several ways to do the same work is the fastest, as far as the measurement can tell. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from perf.harness.stats import Estimate


def fastest(seconds_per_step: Mapping[str, Estimate]) -> tuple[str, ...]:
    """The ways that could be the fastest: their interval begins no later than the quickest's ends. Quickest first.

    One alone is told apart from all others. Intervals that part are a stronger condition than a difference that is
    proved, so it errs towards naming several; a time without an interval (one process) is told apart from none.
    """
    if not seconds_per_step:
        return ()
    ordered = sorted(seconds_per_step, key=lambda way: seconds_per_step[way].value)
    ends = seconds_per_step[ordered[0]].high
    return tuple(way for way in ordered if ends is None or (low := seconds_per_step[way].low) is None or low <= ends)
