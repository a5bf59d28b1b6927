"""What both sides run with, as rows; versions always, the rest where it differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from perf.harness.records import Environment
from perf.harness.report.page.data import VersionRow

#: Packages that are listed where they differ; of more, the rest is counted.
_MOST_PACKAGES = 40


def alone(environments: Iterable[Environment]) -> tuple[VersionRow, ...]:
    """Of a session that compared nothing."""
    now = list(environments)
    names = dict.fromkeys(name for environment in now for name in environment.versions)
    rows = [VersionRow("version", name, None, _joined(e.versions.get(name) for e in now)) for name in names]
    variables = dict.fromkeys(name for environment in now for name in environment.variables)
    rows += [VersionRow("variable", name, None, _joined(e.variables.get(name) for e in now)) for name in variables]
    return tuple(rows)


def both(
    then: Sequence[Environment], now: Sequence[Environment], host: tuple[Mapping[str, str], Mapping[str, str]] | None
) -> tuple[VersionRow, ...]:
    """Of two sides; an entry with several values (cases promoted at different times) names each, the commonest first.

    ``host``: what was seen of the machine then and now, where both were not the same moment.
    """
    rows: list[VersionRow] = []
    for group in ("version", "setting", "variable", "package"):
        before = [getattr(environment, f"{group}s") for environment in then]
        after = [getattr(environment, f"{group}s") for environment in now]
        found = [
            VersionRow(group, name, _joined(entry.get(name) for entry in before), _joined(e.get(name) for e in after))
            for name in dict.fromkeys(name for entry in (*before, *after) for name in entry)
        ]
        if group != "version":
            named = {row.name for row in rows}
            found = [row for row in found if row.differs and row.name not in named]
        if group == "package" and len(found) > _MOST_PACKAGES:
            more = len(found) - _MOST_PACKAGES
            found = [*found[:_MOST_PACKAGES], VersionRow(group, f"and {more} more packages", "…", "…, differing")]
        rows += found
    seen_then, seen_now = host or ({}, {})
    rows += [
        VersionRow("host", name, seen_then.get(name, "absent"), seen_now.get(name, "absent"))
        for name in sorted({*seen_then, *seen_now})
        if seen_then.get(name) != seen_now.get(name)
    ]
    return tuple(rows)


def _joined(values: Iterable[str | None]) -> str:
    found = Counter("absent" if value is None else value for value in values)
    return ", ".join(value for value, _ in found.most_common()) or "unknown"
