"""The timed loop. It adds nothing to a step but two clock readings per round, or per call where calls are kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Callable

from lstm_models.problem import Problem
from lstm_models.step import synchronise

SLOWDOWN = "LSTM_PERF_SLOWDOWN"


@dataclass(frozen=True)
class Times:
    """``seconds``: one per round of all its calls, device drained at both ends. ``call_seconds``: one per call, round
    after round, or none."""

    seconds: list[float]
    call_seconds: list[float]


def slowdown() -> float:
    """The factor by which ``LSTM_PERF_SLOWDOWN`` stretches what is timed, 1 where it is not set.

    It exists to test the gate. Raises :class:`Problem` where it is no number of 1 or more.
    """
    text = os.environ.get(SLOWDOWN, "1")
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 1.0 <= factor < 1000.0:
        raise Problem("run", f"{SLOWDOWN}={text!r} is not allowed; it is a factor from 1 to below 1000, e.g. 1.25.")
    return factor


def timed(
    call: Callable[[], Any],
    reset: Callable[[], None],
    rounds: int,
    calls: int,
    keeps_calls: bool,
    factor: float = 1.0,
) -> Times:
    """Time ``rounds`` rounds of ``calls`` calls. Every round starts from ``reset``, untimed.

    With a ``factor`` above 1 a round is spun on until that many times its own time has passed; where calls are kept,
    every call is. Spun after every call, pools of threads would fall asleep in between, and more than the factor would
    be seen: on calls of a millisecond 1.05 was measured as 1.1 to 1.3.
    """
    run = _stretched(call, factor) if keeps_calls and factor > 1.0 else call
    seconds: list[float] = []
    call_seconds: list[float] = []
    for _ in range(rounds):
        reset()
        synchronise()
        last: Any = None
        if keeps_calls:
            start = before = perf_counter()
            for _ in range(calls):
                last = run()
                after = perf_counter()
                call_seconds.append(after - before)
                before = after
        else:
            start = perf_counter()
            for _ in range(calls):
                last = run()
        synchronise(last)
        if not keeps_calls:
            _spin_until(start + (perf_counter() - start) * factor)
        seconds.append(perf_counter() - start)
    return Times(seconds, call_seconds)


def _stretched(call: Callable[[], Any], factor: float) -> Callable[[], Any]:
    def run() -> Any:
        start = perf_counter()
        last = call()
        synchronise(last)  # without it the time of an asynchronous call is that of its dispatch
        _spin_until(start + (perf_counter() - start) * factor)
        return last

    return run


def _spin_until(end: float) -> None:
    while perf_counter() < end:
        pass
