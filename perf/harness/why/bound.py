"""What a step is bound by: what takes more than half of it, beyond the 95 % interval of its number. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from perf.harness.numbers import percent, ratio
from perf.harness.records import Change
from perf.harness.stats import Estimate, interval_over_processes
from perf.harness.why.curves import Curve, compared
from perf.harness.why.overhead import bare_curve
from perf.harness.why.peak import share_of_peak, share_of_transfer
from perf.harness.why.records import Bound, Peak, Reason, Subject
from perf.harness.why.transfer import FED

#: A step is bound by what takes most of it, and only one thing can take more than half.
HALF = 0.5
#: Compiled code that leaves out the launches and does the rest in half the time shows that they took the other half.
TWICE = 1 / HALF
#: Launches one small operation after another; the other runs them as compiled code.
_LAUNCHING, _COMPILED = "loop", "xla"
#: What a number of a reason is.
OF_PEAK, _FIXED = "of the peak of matrix products", "of it does not depend on the batch"
#: What a person who chose nothing runs, the first that was measured: cuDNN on a GPU, the loop on a CPU.
_USUAL = ("cudnn", "loop", "auto", "xla", "unrolled", "inductor", "cudnn-layer")


def reasons(curves: Sequence[Curve], peaks: Sequence[Peak]) -> tuple[Reason, ...]:
    """Of what Keras runs by itself on each device, for each workload, path, precision and data set, at every batch that
    was measured."""
    found = []
    for where in dict.fromkeys((curve.who.where, curve.who.device) for curve in curves):
        among = [curve for curve in curves if (curve.who.where, curve.who.device) == where]
        usual = min((curve.who for curve in among), key=lambda who: _USUAL.index(who.kernel))
        own = [curve for curve in among if curve.who == usual]
        for batch in sorted({batch for curve in own for batch in curve.seconds}):
            curve = next(curve for curve in own if batch in curve.seconds)  # expectations first: more processes
            found.append(reason(curve, batch, curves, peaks))
    return tuple(found)


def reason(curve: Curve, batch: int, curves: Sequence[Curve], peaks: Sequence[Peak]) -> Reason:
    """The first that holds of: transfer, the overhead of Keras's own loop, arithmetic, launches, the fixed cost of a
    call. Where no interval lies on one side of a half it cannot be told."""
    subject, seconds = curve.subjects[batch], curve.seconds[batch]
    share = share_of_peak(subject, seconds, peaks)

    def bound(by: Bound, number: str, meaning: str) -> Reason:
        return Reason(curve.who, batch, by, number, meaning, share)

    if (copy := _transfer(subject, seconds, peaks)) and _over(copy, HALF):
        return bound(Bound.TRANSFER, percent(copy), "of it would copy the inputs alone")
    bare = bare_curve(curve, curves)
    if bare is not None and (change := compared(seconds, bare.seconds.get(batch, {}))) and change.low > TWICE:
        return bound(Bound.CALL, ratio(change), f"times the bare {bare.who.path}")
    if share is not None and _over(share, HALF):
        return bound(Bound.ARITHMETIC, percent(share), OF_PEAK)
    fixed = fixed_share(curve, batch)
    if fixed is not None and fixed.high is not None and fixed.high < HALF:
        return bound(Bound.ARITHMETIC, percent(_rest(fixed)), "of it grows with the batch")
    if curve.who.kernel == _LAUNCHING and (change := _over_compiled(curve, batch, curves)) and change.low > TWICE:
        return bound(Bound.LAUNCHES, ratio(change), f"times what {_COMPILED} takes")
    if fixed is not None and _over(fixed, HALF):
        # Both are paid once a call by the loop, and only what compiled code leaves out can be told from the rest.
        return bound(Bound.EITHER if curve.who.kernel == _LAUNCHING else Bound.CALL, percent(fixed), _FIXED)
    if fixed is not None:
        return bound(Bound.UNKNOWN, percent(fixed), _FIXED)
    return bound(Bound.UNKNOWN, "", "fewer than three batches were measured, and nothing else is clear enough")


def fixed_share(curve: Curve, batch: int) -> Estimate | None:
    """The part of a step that the batch does not change, from each process's own cost line; ``None`` without lines.

    A line through noise may start below 0, or fall: then nothing is fixed, or everything.
    """
    parts = [(max(fixed, 0.0), max(each, 0.0) * batch) for fixed, each in curve.lines.values()]
    shares = [fixed / (fixed + growing) for fixed, growing in parts if fixed + growing > 0]
    if len(shares) < 2:
        return None
    if min(shares) <= 0:
        return Estimate(sum(shares) / len(shares), 0.0, max(shares))
    found = interval_over_processes(shares)
    return Estimate(found.value, found.low, min(found.high or 1.0, 1.0))


def _over_compiled(curve: Curve, batch: int, curves: Sequence[Curve]) -> Change | None:
    who = replace(curve.who, kernel=_COMPILED)
    compiled = next((each for each in curves if each.source is curve.source and each.who == who), None)
    return None if compiled is None else compared(curve.seconds[batch], compiled.seconds.get(batch, {}))


def _transfer(subject: Subject, seconds: Mapping[int, float], peaks: Sequence[Peak]) -> Estimate | None:
    return share_of_transfer(subject, seconds, peaks) if subject.who.path in FED else None


def _over(estimate: Estimate, limit: float) -> bool:
    return estimate.low is not None and estimate.low > limit


def _rest(share: Estimate) -> Estimate:
    assert share.low is not None
    assert share.high is not None
    return Estimate(1 - share.value, 1 - share.high, 1 - share.low)
