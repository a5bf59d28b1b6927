"""What becomes of the cases that stored numbers suspect: the framework, the machine, or chance? Pure.

Numbers of different days cannot tell a slower framework from a slower machine. So the suspects are measured again,
side by side with the environment that their baseline was measured in, on this machine and now:

- slower side by side: **regressed**, by the framework;
- not slower side by side, or less than half as much with all of its interval, and beyond Holm's procedure on the stored
  numbers: **drifted**, by the machine (or by what both sides share: the driver, the system, this checkout);
- not slower side by side, and within what chance does among so many cases: **unchanged**;
- undecided side by side, or no room or time to do it: inconclusive;
- where the environment cannot be had, the stored numbers alone decide, as they are (:mod:`perf.harness.verdict`).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from perf.harness.numbers import ratio
from perf.harness.records import Change, Judgement, Verdict

#: Suspects that are all decided; of more, the surest and some at random. Only these would speak of whatever is worst.
MOST_DECIDED = 8
_SUREST, _AT_RANDOM = 5, 3


@dataclass(frozen=True, slots=True)
class Choice:
    """Which suspects are measured again, in the order of suspicion, and which are left."""

    chosen: tuple[str, ...]
    left: tuple[str, ...]


def choose(suspects: Sequence[str], seed: int) -> Choice:
    """``suspects`` come with the surest first."""
    if len(suspects) <= MOST_DECIDED:
        return Choice(tuple(suspects), ())
    drawn = random.Random(f"{seed}:suspects").sample(list(suspects[_SUREST:]), _AT_RANDOM)
    chosen = {*suspects[:_SUREST], *drawn}
    return Choice(tuple(key for key in suspects if key in chosen), tuple(key for key in suspects if key not in chosen))


def decided(stored: Judgement, paired: Judgement, *, baseline: str, machine: str) -> Judgement:
    """The verdict on a suspect that was measured side by side.

    ``baseline`` says in words what it was compared with, ``machine`` how the host differs from then.
    """
    change = paired.change
    by_numbers = f"The stored numbers had suspected it: {_times(stored.change)} the time of {baseline}."
    if paired.verdict.is_red:
        return replace(stored, verdict=paired.verdict, reason=f"{paired.reason} {by_numbers}", side_by_side=change)
    innocent = paired.verdict in (Verdict.UNCHANGED, Verdict.IMPROVED)
    if not innocent and not (stored.verdict is Verdict.REGRESSED and _explains_little(stored.change, change)):
        why = paired.reason.removeprefix(f"{stored.key}: ")
        reason = f"{stored.key}: suspected by the stored numbers, {_times(stored.change)} the baseline's time, and not "
        reason += f"decided side by side with the baseline's environment: {why}"
        return replace(stored, verdict=Verdict.INCONCLUSIVE, reason=reason, side_by_side=change)
    if stored.verdict is not Verdict.REGRESSED:
        return replace(stored, verdict=Verdict.UNCHANGED, reason="", side_by_side=change)
    differs = (
        f"The host differs from then: {machine}." if machine else "Nothing recorded of the host differs from then."
    )
    blamed = "So it is not the packages or variables"
    if not innocent:
        blamed = "So the packages and variables explain less than half of it"
    reason = (
        f"{stored.key}: drifted: {_times(stored.change)} the time of the stored baseline, but {_times(change)} that of "
        f"the baseline's environment measured next to it, now. {blamed}: it is the machine, or what both sides share "
        f"(driver, system, this checkout, code of your own). {differs} Look for other processes, clocks and "
        "temperature; if it is here to stay, promote new runs."
    )
    return replace(stored, verdict=Verdict.DRIFTED, reason=reason, side_by_side=change)


def left_undecided(stored: Judgement, why: str) -> Judgement:
    """The verdict on a suspect that was not measured side by side although it could have been."""
    reason = (
        f"{stored.key}: suspected by the stored numbers, {_times(stored.change)} the baseline's time, and not decided "
        f"side by side: {why}. Decide it alone: the same command with -k."
    )
    return replace(stored, verdict=Verdict.INCONCLUSIVE, reason=reason)


def by_numbers_alone(stored: Judgement, why: str) -> Judgement:
    """The verdict on a suspect whose baseline's environment cannot be had; ``why`` is a clause."""
    note = f"Not measured side by side, so the stored numbers alone decide: {why}."
    return replace(stored, reason=f"{stored.reason} {note}")


def _explains_little(stored: Change | None, side_by_side: Change | None) -> bool:
    """Whether what is left of a change side by side is, with its interval, less than half of it (in logarithms)."""
    if stored is None or side_by_side is None:
        return False
    return 2 * math.log(side_by_side.high) < math.log(stored.ratio)


def _times(change: Change | None) -> str:
    return "an unknown multiple of" if change is None else f"{ratio(change)} times"
