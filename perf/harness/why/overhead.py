"""What Keras's own loops add to the bare step. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perf.harness.costs import estimate
from perf.harness.why.curves import Curve, compared
from perf.harness.why.records import Overhead, Who

#: The bare step of each path: the same arithmetic without data pipeline, callbacks and metrics. ``fit`` updates the
#: weights besides, so the optimizer is in what it adds.
BARE = {"fit": "backward", "evaluate": "forward", "predict": "forward"}


def overheads(curves: Sequence[Curve]) -> tuple[Overhead, ...]:
    """Of every ``fit``, ``evaluate`` and ``predict`` whose bare step the same stage measured too."""
    found: dict[tuple[Who, int], Overhead] = {}
    for curve in curves:
        bare = bare_curve(curve, curves)
        if bare is None:
            continue
        for batch, seconds in curve.seconds.items():
            other = bare.seconds.get(batch, {})
            change = compared(seconds, other)
            if change is not None and (curve.who, batch) not in found:
                added = estimate([seconds[process] - other[process] for process in seconds if process in other])
                found[curve.who, batch] = Overhead(curve.who, bare.who.path, batch, added, change)
    return tuple(found.values())


def bare_curve(curve: Curve, among: Sequence[Curve]) -> Curve | None:
    """The bare step of a curve's path, of the same kernel on the same device and of the same stage."""
    path = BARE.get(curve.who.path)
    if path is None:
        return None
    who = replace(curve.who, path=path, data_set="")
    return next((each for each in among if each.source is curve.source and each.who == who), None)
