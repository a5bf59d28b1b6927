"""What this process reaches where nothing but arithmetic or copying is asked of it: the ceiling of any kernel.

The rate of a square matrix multiplication by precision, and what a copy from the host to the GPU costs. Both are the
best of several timed rounds: a ceiling, not a typical time.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, Callable, Optional

import numpy as np

from lstm_models.backends import backend
from lstm_models.backends.interface import Unmultiplied
from lstm_models.step import synchronise

PRECISIONS = ("float32", "float16", "bfloat16")
#: Sides of the square matrices, ascending. Larger ones reach more of the peak, up to what the time allows.
SIDES = (256, 512, 1024, 2048, 4096, 8192)
#: Seconds for one precision; all of a process take about a second, whatever it can do.
SECONDS = 0.25
#: A timed round lasts at least this long, else one launch and one wait are most of it.
SECONDS_PER_ROUND = 0.005
ROUNDS = 3
#: Bytes of a small and of a large copy: two points give the fixed cost and the cost per byte.
COPIES = (4 * 2**10, 16 * 2**20)
MOST_CALLS = 256
_MIB = 2**20


def peak(
    on_gpu: bool, sides: tuple[int, ...] = SIDES, seconds: float = SECONDS, clock: Callable[[], float] = perf_counter
) -> dict[str, Any]:
    """``flops_per_second`` by precision and ``transfer`` (``None`` without a GPU), as builtins.

    A precision that cannot be multiplied here is left out.
    """
    found = {precision: _rate(precision, sides, seconds, clock) for precision in PRECISIONS}
    return {
        "flops_per_second": {precision: rate for precision, rate in found.items() if rate is not None},
        "transfer": _transfer(clock) if on_gpu else None,
    }


def _rate(precision: str, sides: tuple[int, ...], limit: float, clock: Callable[[], float]) -> Optional[float]:
    """The best rate of all ``sides`` that are done before ``limit`` seconds are spent; at least the first is."""
    begin = clock()
    best = None
    for side in sides:
        try:
            seconds = _best(backend().product(side, precision), clock)
        except Unmultiplied:
            break
        rate = 2 * side**3 / seconds
        best = rate if best is None else max(best, rate)
        # The next takes eight times as long, and that in several rounds.
        if clock() - begin + (ROUNDS + 1) * 8 * max(seconds, SECONDS_PER_ROUND / 8) > limit:
            break
    return best


def _transfer(clock: Callable[[], float]) -> dict[str, float]:
    """Seconds = fixed + per MiB x MiB of a copy of host memory to the GPU, pinned (as the framework stages it)."""
    seconds = [_best(backend().copy(np.zeros(size // 4, np.float32)), clock) for size in COPIES]
    small, large = seconds
    per_byte = max(large - small, 0.0) / (COPIES[1] - COPIES[0])
    return {"fixed_seconds": max(small - per_byte * COPIES[0], 0.0), "seconds_per_mib": per_byte * _MIB}


def _best(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    """Seconds per call, the least of :data:`ROUNDS` rounds between two waits for the device."""

    def timed(calls: int) -> float:
        synchronise()
        begin = clock()
        value = None
        for _ in range(calls):
            value = call()
        synchronise(value)
        return (clock() - begin) / calls

    timed(1)  # libraries load and choose an algorithm
    once = timed(1)
    calls = min(max(round(SECONDS_PER_ROUND / max(once, 1e-9)), 1), MOST_CALLS)
    return min(timed(calls) for _ in range(ROUNDS))
