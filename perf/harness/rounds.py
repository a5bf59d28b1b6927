"""How many calls make a round, when a case is steady, and when it was timed long enough. Pure.

The rules are METHOD.md's, "Paired" items 2 and 3; the same ones measure one side alone.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

#: A round lasts at least this long: the clock and the synchronisation at its ends then weigh nothing.
ROUND_SECONDS = 0.020
#: Calls grow by this much over what was probed, because a process is still getting faster while it is probed.
PROBE_RESERVE = 1.15
#: More calls than this in a round are not believed: no LSTM step takes less than a microsecond.
MAX_CALLS = 20_000

#: Timed rounds of a case in one process: until the median is known well enough, but within these.
MIN_ROUNDS = 10
MAX_ROUNDS = 120
#: Seconds of timed rounds after which a case has had its share, known well enough or not.
TIMED_SECONDS = 1.5

#: Rounds of one window of the steady-state test.
WINDOW = 5
#: Rounds discarded at most, by number and by time; then the case is unsteady.
MAX_DISCARDED = 60
DISCARDED_SECONDS = 3.0
#: Windows compared before either cap counts: equal windows disagree now and then by noise alone.
MIN_WINDOWS = 4

#: Rounds longer than this are slow, and slow cases make do with fewer. A fit of 32 batches of a large model takes
#: 5 s: 10 timed rounds and windows of 5 would be 100 s of one case in each process, for a median that a handful of
#: such long rounds, each an average over many steps, gives just as well.
SLOW_ROUND_SECONDS = 0.3
MIN_SLOW_ROUNDS = 5
SLOW_WINDOW = 3

#: Rounds are asked for in one request up to this long, so that the time limit of a request is one for a hang.
REQUEST_SECONDS = 10.0


def calls_for(seconds_per_call: float) -> int:
    """Calls that make a round of at least :data:`ROUND_SECONDS`; 1 where one call is long enough."""
    if seconds_per_call >= ROUND_SECONDS:
        return 1
    return min(MAX_CALLS, math.ceil(PROBE_RESERVE * ROUND_SECONDS / seconds_per_call))


def window(seconds_per_round: float) -> int:
    """Rounds in one window of the steady-state test."""
    return SLOW_WINDOW if seconds_per_round > SLOW_ROUND_SECONDS else WINDOW


def per_request(seconds_per_round: float, time_limit: float) -> int:
    """Rounds to ask for at once, at least 1: far from the ``time_limit`` of a request (seconds)."""
    return max(1, int(min(REQUEST_SECONDS, time_limit / 4) / seconds_per_round))


def log_spread(*windows: Sequence[float]) -> float:
    """Robust standard deviation of ln(seconds) of rounds, each about the median of its own window.

    1.4826 x the median absolute deviation, so that rounds in which the machine did something else do not count;
    the factor for small samples makes it right for two rounds and 12 % small for five (simulated).
    """
    deviations = []
    for seconds in windows:
        logs = [math.log(value) for value in seconds]
        middle = statistics.median(logs)
        small = math.sqrt(len(logs) / (len(logs) - 1)) if len(logs) > 1 else 1.0
        deviations += [small * abs(value - middle) for value in logs]
    return 1.4826 * statistics.median(deviations)


def agree(before: Sequence[float], after: Sequence[float], margin: float) -> bool:
    """Whether two successive windows show one steady state.

    Their medians differ by no more than the smallest change that matters (``margin``, e.g. 0.05), or by no more
    than two standard errors of that difference: single rounds of 20 ms vary by 15 % on a shared machine, and asking
    such windows for 5 % would call every case there unsteady. (Simulated, spread 2 / 5 / 15 %, windows of 5: equal
    windows agree in 100 / 90 / 86 %, windows 30 % apart in 0 / 0 / 25 %.)
    """
    difference = abs(math.log(statistics.median(after) / statistics.median(before)))
    error = 1.25 * log_spread(before, after) * math.sqrt(1 / len(before) + 1 / len(after))
    return difference <= max(math.log1p(margin), 2 * error)


def never_steady(windows: int, rounds: int, seconds: float) -> bool:
    """Whether to stop waiting for a steady state, after so many windows, rounds and seconds discarded."""
    return windows >= MIN_WINDOWS and (rounds >= MAX_DISCARDED or seconds >= DISCARDED_SECONDS)


def more_rounds(
    timed: Sequence[float], seconds_per_round: float, margin: float, ratios: Sequence[float] | None = None
) -> int:
    """How many more rounds to time after those ``timed`` (seconds of each); 0: enough.

    Rounds are added until 1.25 x sd / sqrt(R) (the standard error of a median, for normal noise) is at most
    ln(1 + margin)/3: then the rounds inside a process no longer decide what can be seen, the processes do.
    The sd is that of the rounds, or of the ``ratios`` of two sides' rounds, where that is what is sought; ``timed``
    are those of the slower side then.
    """
    at_least = MIN_SLOW_ROUNDS if seconds_per_round > SLOW_ROUND_SECONDS else MIN_ROUNDS
    done = len(timed)
    if done < at_least:
        return at_least - done
    spent = sum(timed)
    needed = math.ceil((1.25 * log_spread(timed if ratios is None else ratios) / (math.log1p(margin) / 3)) ** 2)
    if done >= min(needed, MAX_ROUNDS) or spent >= TIMED_SECONDS:
        return 0
    affordable = math.ceil((TIMED_SECONDS - spent) / statistics.median(timed))
    return min(needed - done, affordable, MAX_ROUNDS - done)
