"""Which device and kernel to use at a batch: the fastest of what was measured there. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from perf.harness.why.curves import Curve, Source, compared, typical
from perf.harness.why.records import Recommendation

#: What people ask for: one request, a usual training batch, a large one.
BATCHES = (1, 32, 256)
#: Who takes no more than this, beyond chance, may be used as well.
AS_FAST = 1.1
#: Chosen by the framework among the others: where these are measured too, it is no choice of its own.
AUTO = "auto"


def recommendations(curves: Sequence[Curve]) -> dict[tuple[str, str, str, str], tuple[Recommendation, ...]]:
    """At each of :data:`BATCHES`, by workload, path, precision and data set, where there are at least two contenders
    to choose from."""
    found = {}
    for where in dict.fromkeys(curve.who.where for curve in curves):
        among = [curve for curve in curves if curve.who.where == where]
        if len({curve.who for curve in choices(among)}) > 1:
            found[where] = tuple(recommend(among, batch) for batch in BATCHES)
    return found


def choices(curves: Sequence[Curve]) -> list[Curve]:
    """Without ``auto`` where its device has other kernels."""
    devices = {curve.who.device for curve in curves if curve.who.kernel != AUTO}
    return [curve for curve in curves if curve.who.kernel != AUTO or curve.who.device not in devices]


def recommend(curves: Sequence[Curve], batch: int) -> Recommendation:
    """The fastest at ``batch`` of the curves of one workload and path, and who is as fast, open or next.

    Slower is whose 95 % t interval of the ratio to the fastest, over processes, lies above 1; as fast is whose interval
    ends below :data:`AS_FAST`; the rest is open. Intervals are not corrected for the number of contenders.
    """
    among = contenders(curves, batch)
    if not among:
        return Recommendation(batch, None)
    best, *others = sorted(among, key=lambda curve: typical(curve.at(batch)))
    changes = [(curve.who, compared(curve.at(batch), best.at(batch))) for curve in others]
    slower = [(who, change) for who, change in changes if change is not None and change.low > 1]
    ties = [
        (who, change.high)
        for who, change in changes
        if change is not None and change.low <= 1 and change.high <= AS_FAST
    ]
    told = {who for who, _ in slower} | {who for who, _ in ties}
    then, change = slower[0] if slower else (None, None)
    return Recommendation(
        batch=batch,
        best=best.who,
        ties=tuple(who for who, _ in ties),
        tie_within=max(high for _, high in ties) if ties else None,
        open=tuple(who for who, _ in changes if who not in told),
        then=then,
        change=change,
        estimated=any(batch not in curve.seconds for curve in among),
    )


def contenders(curves: Sequence[Curve], batch: int) -> list[Curve]:
    """Those with a time at ``batch``, of one stage: times of two are not compared.

    It is the expectations where they have a choice, since their rounds took turns; else the stage that has more.
    """
    by_source = {
        source: choices([curve for curve in curves if curve.source is source and curve.at(batch)]) for source in Source
    }
    if len(by_source[Source.EXPECTATIONS]) > 1:
        return by_source[Source.EXPECTATIONS]
    return max(by_source.values(), key=len)
