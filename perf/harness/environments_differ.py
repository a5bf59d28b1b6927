"""In what two environments differ: the table above the verdicts of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from perf.harness.frameworks import TENSORFLOW, by_canonical_name, distribution_of
from perf.harness.records import Environment
from perf.harness.wanted import NOT_HELD

ABSENT = "absent"


class Difference(NamedTuple):
    """One row: what differs, and what it is on the baseline's and on the candidate's side."""

    what: str
    baseline: str
    candidate: str


def differences(baseline: Environment, candidate: Environment) -> tuple[Difference, ...]:
    """All that differs, what decides most first; empty for two equal environments.

    Packages that only one side has share one row: a side in which pytest runs has dozens that no worker imports.
    """
    ours, theirs = _packages(baseline), _packages(candidate)
    rows = list(_rows("", baseline.versions, candidate.versions))
    told = {row.what: row for row in rows}
    flavours = distribution_of(TENSORFLOW, ours), distribution_of(TENSORFLOW, theirs)
    if flavours[0] and flavours[1] and flavours[0][0] != flavours[1][0]:
        rows.append(Difference("package of tensorflow", *(" ".join(flavour) for flavour in flavours if flavour)))
        for name in (flavours[0][0], flavours[1][0]):
            ours.pop(name, None)
            theirs.pop(name, None)
    both = sorted(ours.keys() & theirs.keys())
    rows += _rows("setting ", baseline.settings, candidate.settings)
    rows += _rows("variable ", baseline.variables, candidate.variables, absent="not set")
    if baseline.devices != candidate.devices:
        rows.append(Difference("devices", ", ".join(baseline.devices), ", ".join(candidate.devices)))
    if ours.keys() != theirs.keys():
        alone = (", ".join(f"{name} {a[name]}" for name in sorted(a.keys() - set(both))) for a in (ours, theirs))
        rows.append(Difference("packages of one side", *(names or "none" for names in alone)))
    packages = _rows("", {name: ours[name] for name in both}, {name: theirs[name] for name in both})
    rows += [row for row in packages if told.get(row.what) != row]
    return tuple(rows)


def _packages(environment: Environment) -> dict[str, str]:
    packages = by_canonical_name(environment.packages)
    return {name: version for name, version in packages.items() if name not in NOT_HELD}


def _rows(
    kind: str, baseline: Mapping[str, str], candidate: Mapping[str, str], absent: str = ABSENT
) -> Iterator[Difference]:
    for name in dict.fromkeys((*baseline, *candidate)):  # as they come: of the versions python and tensorflow first
        a, b = baseline.get(name, absent), candidate.get(name, absent)
        if a != b:
            yield Difference(f"{kind}{name}", a, b)
