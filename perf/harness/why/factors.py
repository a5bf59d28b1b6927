"""The factors that people name, each changed alone, and what that did on this machine. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from perf.harness.expectation_plan import Entrant, meeting
from perf.harness.expectation_records import ExpectationResult
from perf.harness.paired_evidence import Metric
from perf.harness.records import Change
from perf.harness.why.curves import Curve, compared
from perf.harness.why.recommend import AUTO
from perf.harness.why.records import TRANSFER, Copied, Effect, Subject

#: As they stand in the table; those that nothing isolated are named as not measured.
NAMED = (
    "network size", "batch", "sequence length", "data set size", TRANSFER, "device", "kernel", "precision", "threads",
    "oneDNN",
)  # fmt: skip
#: Variables that are factors of their own; any other goes by its name.
VARIABLES = {
    "TF_NUM_INTRAOP_THREADS": "threads",
    "OMP_NUM_THREADS": "threads",
    "TF_ENABLE_ONEDNN_OPTS": "oneDNN",
}
#: What a trait is where a case does not name it.
_UNNAMED = {TRANSFER: "inputs on the device"}
#: Follow from another trait: a kernel of the GPU is a kernel of another device as well.
_FOLLOWS = {frozenset(("device", "kernel")): "device", frozenset(("path", "data set size")): "path"}
_NUMBER = re.compile(r"[0-9]+")


def effects(
    results: Sequence[ExpectationResult], curves: Sequence[Curve], subjects: Mapping[str, Subject]
) -> tuple[Effect, ...]:
    """Of the contenders of expectations that differ in one thing, at both ends of their curve; and of each contender's
    batch, from the smallest to the largest. In the order of :data:`NAMED`, others behind."""
    found: dict[tuple[str, str, str, str], Effect] = {}
    for result in results:
        if result.expectation.metric is not Metric.STEP or not result.curve:
            continue
        for point in dict.fromkeys((result.curve[0], result.curve[-1])):
            pair = meeting(result.expectation, point.size)
            one = _effect(pair, subjects, point.change)
            if one is not None:
                found.setdefault((one.factor, one.before, one.after, one.on), one)
    for curve in {curve.who: curve for curve in reversed(curves)}.values():  # of two stages the first: see curves()
        if (one := _of_batch(curve)) is not None:
            found.setdefault((one.factor, one.before, one.after, one.on), one)
    order = {name: index for index, name in enumerate(NAMED)}
    return tuple(sorted(found.values(), key=lambda one: order.get(one.factor, len(order))))


def not_measured(found: Sequence[Effect], copied: Sequence[Copied]) -> tuple[str, ...]:
    """The named factors of which nothing was found; the share that a copy has of a step tells of ``transfer`` too."""
    known = {effect.factor for effect in found} | ({TRANSFER} if copied else set())
    return tuple(name for name in NAMED if name not in known)


def _effect(pair: tuple[Entrant, Entrant], subjects: Mapping[str, Subject], change: Change) -> Effect | None:
    """``change`` is first / second; ``None`` where more than one thing differs, or it is not known what does."""
    first, second = (subjects.get(entrant.key) for entrant in pair)
    if first is None or second is None:
        return None
    of_first, of_second = first.work.traits, second.work.traits
    differing = [name for name in {**of_first, **of_second} if of_first.get(name) != of_second.get(name)]
    variables = [dict(entrant.lane.variables) for entrant in pair]
    named = sorted(set(variables[0]) | set(variables[1]))
    settings = [name for name in named if variables[0].get(name) != variables[1].get(name)]
    if len(settings) == 1 and not differing:
        name = settings[0]
        before, after = (_setting(name, side) for side in (variables[1], variables[0]))
        return Effect(VARIABLES.get(name, name), before, after, change, _on(first, ()))
    factor = differing[0] if len(differing) == 1 else _FOLLOWS.get(frozenset(differing))
    if settings or factor is None or AUTO in (first.who.kernel, second.who.kernel):
        return None
    before, after = (
        of.get(factor) or _UNNAMED[factor] if factor != "device" else one.who.choice
        for one, of in ((second, of_second), (first, of_first))
    )
    return _upwards(Effect(factor, before, after, change, _on(first, differing)))


def _of_batch(curve: Curve) -> Effect | None:
    small, large = min(curve.seconds), max(curve.seconds)
    change = compared(curve.seconds[large], curve.seconds[small]) if small < large else None
    if change is None:
        return None
    return Effect("batch", str(small), str(large), change, _on(curve.subjects[small], ("batch",)))


def _setting(name: str, variables: Mapping[str, str | None]) -> str:
    if name not in variables:
        return "default"
    value = variables[name]
    return f"{name}={value}" if value is not None else f"no {name}"


def _on(subject: Subject, without: Sequence[str]) -> str:
    who = subject.who
    words = [who.path] if "path" not in without else []
    words.append(who.workload if "batch" in without else f"{who.workload}-b{subject.batch}")
    words += [] if "device" in without else [who.device]
    words += [] if "kernel" in without else [who.kernel]
    return " ".join(words)


def _upwards(effect: Effect) -> Effect:
    """From the smaller to the larger, where both are numbers."""
    before, after = ([int(text) for text in _NUMBER.findall(side)] for side in (effect.before, effect.after))
    if not before or len(before) != len(after) or before <= after:
        return effect
    change = effect.change
    turned = Change(1 / change.ratio, 1 / change.high, 1 / change.low, change.level)
    return Effect(effect.factor, effect.after, effect.before, turned, effect.on)
