"""Expectations in run and baseline files: what was promised and every process's ratio, from which all is derived anew.

Reading is strict, as in :mod:`perf.harness.codec`. Files without the block are older, or measured no expectation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from perf.harness.crossover import judge
from perf.harness.entry import Entry, read_json
from perf.harness.expectation_records import (
    Axis,
    Contender,
    Expectation,
    ExpectationResult,
    Kind,
    Observation,
    Observed,
    Where,
)
from perf.harness.expression import selector
from perf.harness.paired_evidence import Metric

#: Name of the block: in a run a list, in a baseline an object by id.
BLOCK = "expectations"


@dataclass(frozen=True, slots=True)
class Kept:
    """One expectation as a run measured it."""

    run: str
    date: datetime
    expectation: Expectation
    observed: Observed


def encode_all(expectations: Sequence[Expectation], observed: Mapping[str, Observed]) -> list[dict[str, Any]]:
    """Those of which something was measured and nothing failed."""
    return [
        _encode(each, found)
        for each in expectations
        if (found := observed.get(each.id)) and found.failure is None and any(found.observations.values())
    ]


def decode_all(block: Entry) -> list[tuple[Expectation, Observed]]:
    """Those of a run's ``block``; none where it has no such entry."""
    entries = block[BLOCK].elements() if block.has(BLOCK) else ()
    return [_decode(entry.closed("promised", "observed")) for entry in entries]


def of_run(path: Path, block: str) -> dict[str, Kept]:
    """What the run in ``path`` holds under its ``block``, by id."""
    top = read_json(path)[block]
    date = top["date"].date()
    return {each.id: Kept(path.stem, date, each, found) for each, found in decode_all(top)}


def of_baseline(path: Path) -> dict[str, Kept]:
    """What the baseline in ``path`` holds, by id."""
    return decode_kept(read_json(path))


def decode_kept(file: Entry) -> dict[str, Kept]:
    """Inverse of :func:`encode_kept`, of a whole baseline file; none where it has no such entry."""
    kept = {}
    for id, entry in file[BLOCK].items() if file.has(BLOCK) else ():
        entry.closed("run", "date", "promised", "observed")
        expectation, observed = _decode(entry)
        if expectation.id != id:
            entry["promised"]["id"].refuse(f"{id!r}, the name that it stands under")
        kept[id] = Kept(entry["run"].text(), entry["date"].date(), expectation, observed)
    return kept


def encode_kept(kept: Mapping[str, Kept]) -> dict[str, Any]:
    return {
        id: {"run": one.run, "date": one.date.isoformat(timespec="seconds"), **_encode(one.expectation, one.observed)}
        for id, one in sorted(kept.items())
    }


def promoted(runs: Sequence[Mapping[str, Kept]], old: Mapping[str, Kept], select: str) -> dict[str, Kept]:
    """``old`` with the selected ones of ``runs`` in place of its own: of each the last measured, none that is red."""
    matches = selector(select)
    found = dict(old)
    for run in sorted(filter(None, runs), key=lambda run: min(one.date for one in run.values())):
        results = judged(run)
        found |= {id: one for id, one in run.items() if matches(id) and not results[id].state.is_red}
    return found


def judged(kept: Mapping[str, Kept]) -> dict[str, ExpectationResult]:
    """What they were found to be, together."""
    return judge([one.expectation for one in kept.values()], {id: one.observed for id, one in kept.items()})


def _encode(expectation: Expectation, observed: Observed) -> dict[str, Any]:
    return {
        "promised": {
            "id": expectation.id,
            "kind": str(expectation.kind),
            "metric": str(expectation.metric),
            "axis": str(expectation.axis),
            "workload": expectation.workload,
            "path": expectation.path,
            "first": _encode_contender(expectation.first),
            "second": _encode_contender(expectation.second),
            "sizes": list(expectation.sizes),
            "where": str(expectation.where),
            "at": expectation.at,
            "ratio": expectation.ratio,
            "reason": expectation.reason,
            "source": expectation.source,
        },
        "observed": [
            {
                "size": size,
                "processes": [one.process for one in found],
                "log_ratios": [one.log_ratio for one in found],
                "first": [one.first for one in found],
                "second": [one.second for one in found],
                "unsteady": [one.process for one in found if not one.steady],
            }
            for size, found in observed.observations.items()
        ],
    }


def _decode(entry: Entry) -> tuple[Expectation, Observed]:
    promised = entry["promised"].closed(
        "id", "kind", "metric", "axis", "workload", "path", "first", "second", "sizes", "where", "at", "ratio",
        "reason", "source",
    )  # fmt: skip
    sizes = tuple(size.integer(minimum=1) for size in promised["sizes"].elements(at_least=1))
    expectation = Expectation(
        id=promised["id"].text(),
        kind=Kind(promised["kind"].text(list(Kind))),
        metric=Metric(promised["metric"].text(list(Metric))),
        axis=Axis(promised["axis"].text(list(Axis))),
        workload=promised["workload"].text(),
        path=promised["path"].text(),
        first=_decode_contender(promised["first"], sizes),
        second=_decode_contender(promised["second"], sizes),
        sizes=sizes,
        where=Where(promised["where"].text(list(Where))),
        at=None if promised["at"].value is None else promised["at"].integer(minimum=1),
        ratio=promised["ratio"].positive(),
        reason=promised["reason"].text(),
        source=promised["source"].text(),
    )
    found = {each["size"].integer(minimum=1): _decode_size(each) for each in entry["observed"].elements()}
    if tuple(found) != sizes:
        entry["observed"].refuse(f"one entry for each of the sizes {', '.join(map(str, sizes))}")
    return expectation, Observed(found)


def _decode_size(entry: Entry) -> tuple[Observation, ...]:
    entry.closed("size", "processes", "log_ratios", "first", "second", "unsteady")
    processes = [each.integer(minimum=1) for each in entry["processes"].elements()]
    columns = [[each.number() for each in entry["log_ratios"].elements()]]
    columns += [[each.positive() for each in entry[name].elements()] for name in ("first", "second")]
    if any(len(column) != len(processes) for column in columns):
        entry["log_ratios"].refuse(f"one number for each of {len(processes)} processes")
    unsteady = {each.integer(minimum=1) for each in entry["unsteady"].elements()}
    return tuple(
        Observation(process, log_ratio, first, second, process not in unsteady)
        for process, log_ratio, first, second in zip(processes, *columns, strict=True)
    )


def _encode_contender(contender: Contender) -> dict[str, Any]:
    return {
        "label": contender.label,
        "device": contender.device,
        "cases": list(contender.cases.values()),
        "variables": dict(contender.variables),
    }


def _decode_contender(entry: Entry, sizes: Sequence[int]) -> Contender:
    entry.closed("label", "device", "cases", "variables")
    cases = [case.text() for case in entry["cases"].elements()]
    if len(cases) != len(sizes):
        entry["cases"].refuse(f"a case for each of {len(sizes)} sizes")
    variables = {name: None if value.value is None else value.text() for name, value in entry["variables"].items()}
    return Contender(entry["label"].text(), entry["device"].text(), dict(zip(sizes, cases, strict=True)), variables)
