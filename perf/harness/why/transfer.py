"""What copying a step's inputs to the device would take alone. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from perf.harness.why.curves import Curve
from perf.harness.why.peak import share_of_transfer
from perf.harness.why.records import Copied, Peak, Who

#: Paths whose inputs come from the host at every step; those of the others are on the device before.
FED = ("fit", "evaluate", "predict")


def transfers(curves: Sequence[Curve], peaks: Sequence[Peak]) -> tuple[Copied, ...]:
    """Of every contender on a GPU whose inputs come from the host, at every batch that was measured."""
    found: dict[tuple[Who, int], Copied] = {}
    for curve in curves:
        for batch, seconds in curve.seconds.items():
            share = share_of_transfer(curve.subjects[batch], seconds, peaks) if curve.who.path in FED else None
            if share is not None:
                found.setdefault((curve.who, batch), Copied(curve.who, batch, share))
    return tuple(found.values())
