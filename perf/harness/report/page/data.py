"""What a report shows, as frozen records: the same for a session, a paired session and stored runs.

They are built by one constructor per source (:mod:`.session_page`, :mod:`.paired_page`, :mod:`.history_page`) and shown
by :mod:`.render`, :mod:`.markdown` and :mod:`.plain`. Verdicts come in decided; nothing here or behind decides one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from perf.harness.digest import CaseDigest
from perf.harness.records import Change
from perf.harness.report.page.case_data import CaseView, State, Tone

#: The word of an expectation that cannot be checked on this host; these are shown apart.
SKIPPED = "skipped"


class Status(StrEnum):
    """What the run as a whole came to; exit status 0, 1 and 10, or nothing that could be green."""

    GREEN = "green"
    RED = "red"
    NOT_GREEN = "not green"
    MEASURED = "measured"


@dataclass(frozen=True, slots=True)
class Head:
    """What was asked of a session; ``settings`` are name and value, to be shown."""

    title: str
    date: datetime
    machine: str
    settings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class VersionRow:
    """One thing of which there is a version, a value or nothing on each side; ``then`` is None where nothing was
    compared. ``group`` is ``version``, ``package``, ``setting``, ``variable`` or ``host``."""

    group: str
    name: str
    then: str | None
    now: str

    @property
    def differs(self) -> bool:
        return self.then is not None and self.then != self.now


@dataclass(frozen=True, slots=True)
class Visible:
    """The smallest ratio of times that could have been seen: median, least and most over the cases; ``meaning`` says
    in which sense."""

    median: float
    least: float
    most: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Promotion:
    """When a case entered the baseline, from which runs, and why."""

    date: datetime
    runs: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Trend:
    """Stored runs over time, oldest first.

    ``steps``: device -> place of a run -> versions that are new in it. ``cases``: case key -> each run that measured
    it, as its place in ``runs`` and what it found.
    """

    runs: tuple[tuple[str, datetime], ...]
    steps: Mapping[str, Mapping[int, str]]
    cases: Mapping[str, tuple[tuple[int, CaseDigest], ...]]
    promotions: Mapping[str, tuple[Promotion, ...]]


@dataclass(frozen=True, slots=True)
class Table:
    """Text only, so that it reads the same everywhere; ``note`` says what its intervals are."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One size of a curve: time of the first over time of the second, and both in seconds (bytes for memory)."""

    size: int
    change: Change
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class ExpectationView:
    """What should beat what, and what was ``found`` in words. ``crossing`` is estimate, low and high in the unit of
    ``axis``, each None where it is open; None altogether where none was looked for."""

    id: str
    claim: str
    state: State
    found: str
    reason: str
    source: str
    quantity: str
    axis: str
    first: str
    second: str
    at: int | None
    points: tuple[CurvePoint, ...]
    crossing: tuple[float | None, float | None, float | None] | None


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page that its maker has put into words: paragraphs, then tables."""

    id: str
    title: str
    paragraphs: tuple[str, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class PageData:
    """A whole report. ``remarks`` come first, since they are about all cases: the machine's share, too many suspects,
    why the run is not green. ``sections`` are further parts, after the expectations."""

    head: Head
    status: Status
    remarks: tuple[str, ...]
    versions: tuple[VersionRow, ...]
    visible: Visible | None
    cases: tuple[CaseView, ...]
    expectations: tuple[ExpectationView, ...] = ()
    sections: tuple[Section, ...] = ()
    trend: Trend | None = None

    @property
    def counts(self) -> dict[State, int]:
        """Cases by state, the worst first."""
        order = list(Tone)
        found: dict[State, int] = {}
        for case in sorted(self.cases, key=lambda case: (order.index(case.state.tone), case.state.word)):
            found[case.state] = found.get(case.state, 0) + 1
        return found

    @property
    def red(self) -> tuple[CaseView, ...]:
        """The worst first: by ratio, those without one (failed, another kernel) before all."""
        red = [case for case in self.cases if case.state.tone is Tone.RED]
        return tuple(sorted(red, key=lambda case: -_ratio(case)))


def _ratio(case: CaseView) -> float:
    changes = [metric.change for metric in case.metrics if metric.state.tone is Tone.RED]
    return max((change.ratio for change in changes if change), default=float("inf"))
