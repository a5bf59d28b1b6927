"""What a change in the table of kernels means: exact, without statistics.

Losing cuDNN is red. So is every other change of a kernel that does not gain cuDNN: a row has one kernel per release,
it does not vary from run to run, and a loop that became an unrolled graph (or the reverse) has other costs in time,
memory and tracing, of which this table knows nothing. Whoever finds the change welcome promotes it. What
``jit_compile="auto"`` resolves to informs, as it does for measured cases; so do notes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from perf.harness.message import ALWAYS_NAMED
from perf.harness.selection_records import FAILS, MODES, NOT_COMPARABLE, Selection, SelectionRow

_CUDNN = "cudnn"


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row that is not as it was; ``then`` and ``now`` are kernels without their number, or other facts as text."""

    row: str
    mode: str
    setting: str
    place: str
    then: str
    now: str

    @property
    def group(self) -> str:
        return self.row.split("/")[0]


@dataclass(frozen=True, slots=True)
class SelectionComparison:
    """Two tables held against each other.

    ``lost``: cuDNN became something else; ``gained``: something else became cuDNN, or Keras raised and does so no
    longer; ``changed``: any other change of kernel. ``resolved`` and ``noted``: jit_compile and notes, where the
    kernel stayed. ``not_comparable``: one side cannot say, ``then`` is the reason. ``missing``
    and ``new``: ids of rows that only one of the tables has: the suite changed, not the framework.
    """

    before: Selection
    after: Selection
    lost: tuple[RowChange, ...]
    gained: tuple[RowChange, ...]
    changed: tuple[RowChange, ...]
    resolved: tuple[RowChange, ...]
    noted: tuple[RowChange, ...]
    not_comparable: tuple[RowChange, ...]
    missing: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def is_red(self) -> bool:
        return bool(self.lost or self.changed)

    def reasons(self, group: str | None = None) -> tuple[str, ...]:
        """Why the table, or one setting of it, is red: one sentence for each change that several rows share."""
        changes = (change for change in (*self.lost, *self.changed) if group in (None, change.group))
        return self.sentences(changes)

    def sentences(self, changes: Iterable[RowChange], what: str = "") -> tuple[str, ...]:
        """``dropout=0.2, inference and training: cudnn under keras 3.4.1, loop under keras 3.3.3 (everywhere)``.

        ``what`` says what the values are where they are no kernels.
        """
        then, now = _names(self.before.versions, self.after.versions)
        return tuple(
            f"{setting}, {modes}: {what}{was} {then}, {is_now} {now} ({self._where(group, places)})"
            for (group, setting, was, is_now, modes), places in _shared(changes).items()
        )

    def not_compared(self) -> tuple[str, ...]:
        """``use_cudnn=False, inference and training: the LSTM of Keras 3.0.5 knows no use_cudnn (everywhere)``."""
        return tuple(
            f"{setting}, {modes}: {why} ({self._where(group, places)})"
            for (group, setting, why, _, modes), places in _shared(self.not_comparable).items()
        )

    def _where(self, group: str, places: list[str]) -> str:
        all_places = {row.place for row in (*self.before.rows, *self.after.rows) if row.group == group}
        if len(places) > 1 and set(places) == all_places:
            return f"everywhere, {len(places)} places"
        return "; ".join(places)


def compare(before: Selection, after: Selection) -> SelectionComparison:
    """``before``: the baseline's side. Pure."""
    then, now = before.by_key, after.by_key
    found: dict[str, list[RowChange]] = {name: [] for name in _KINDS}
    for key in then.keys() & now.keys():
        if (kind := _kind(then[key], now[key])) is not None:
            found[kind].append(_change(kind, then[key], now[key]))
    order = {key: place for place, key in enumerate(now)}
    sorted_ = {
        kind: tuple(sorted(changes, key=lambda change: order[change.row, change.mode]))
        for kind, changes in found.items()
    }
    return SelectionComparison(
        before,
        after,
        **sorted_,
        missing=tuple(dict.fromkeys(row for row, mode in then if (row, mode) not in now)),
        new=tuple(dict.fromkeys(row for row, mode in now if (row, mode) not in then)),
    )


_KINDS = ("lost", "gained", "changed", "resolved", "noted", "not_comparable")


def _kind(then: SelectionRow, now: SelectionRow) -> str | None:
    old, new = then.plain_kernel, now.plain_kernel
    if NOT_COMPARABLE in (old, new):
        return None if old == new else "not_comparable"
    if old != new:
        if old == _CUDNN:
            return "lost"
        return "gained" if new == _CUDNN or old == FAILS else "changed"
    if then.jit != now.jit:
        return "resolved"
    return "noted" if then.note != now.note else None


def _change(kind: str, then: SelectionRow, now: SelectionRow) -> RowChange:
    if kind == "resolved":
        facts = (then.jit or "nothing", now.jit or "nothing")
    elif kind == "noted":
        facts = (then.note or "nothing", now.note or "nothing")
    elif kind == "not_comparable":
        facts = ((then if then.kernel == NOT_COMPARABLE else now).note, "")
    else:
        facts = (_kernel(then), _kernel(now))
    return RowChange(now.row, now.mode, now.setting, now.place, *facts)


def _kernel(row: SelectionRow) -> str:
    """The kernel with its note: why it fails, or that it was there because Keras forgot an option (before 3.12 a
    Bidirectional forgot ``use_cudnn=False``, so that to heed it is to lose cuDNN)."""
    return f"{row.plain_kernel} ({row.note})" if row.note else row.plain_kernel


def _shared(changes: Iterable[RowChange]) -> dict[tuple[str, str, str, str, str], list[str]]:
    """Places by what they share: group, setting, then, now and modes in words."""
    modes: dict[tuple[str, str, str, str, str], list[str]] = {}
    for change in changes:
        key = (change.group, change.setting, change.then, change.now, change.place)
        modes.setdefault(key, []).append(change.mode)
    places: dict[tuple[str, str, str, str, str], list[str]] = {}
    for (group, setting, then, now, place), found in modes.items():
        in_words = " and ".join(sorted(found, key=MODES.index))
        places.setdefault((group, setting, then, now, in_words), []).append(place)
    return places


def _names(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, str]:
    """Both sides by the versions in which they differ; by time where they differ in none."""
    differ = [name for name in dict.fromkeys((*ALWAYS_NAMED, *then, *now)) if then.get(name) != now.get(name)]
    differ = [name for name in differ if name in ALWAYS_NAMED] or differ
    if not differ:
        same = ", ".join(f"{name} {now[name]}" for name in ALWAYS_NAMED if name in now)
        return "before", f"now, both under {same}"

    def side(versions: Mapping[str, str]) -> str:
        return "under " + ", ".join(f"{name} {versions.get(name, 'absent')}" for name in differ)

    return side(then), side(now)


@dataclass(frozen=True, slots=True)
class Selected:
    """What a test of one setting states. ``selection`` is ``None`` where ``failure`` says why there is none;
    ``comparison`` is ``None`` where nothing was to be compared."""

    group: str
    selection: Selection | None
    comparison: SelectionComparison | None
    fail: Callable[[str], NoReturn]
    failure: str = ""

    def check(self) -> None:
        """Fails the test where the table could not be made, or where a kernel of this setting changed for the worse."""
        if self.selection is None:
            self.fail(f"The kernels that Keras would pick were not found: {self.failure}")
        if not any(row.group == self.group for row in self.selection.rows):
            self.fail(f"The table of kernels has no row for {self.group!r}: worker and suite are of two checkouts.")
        if self.comparison is not None and (reasons := self.comparison.reasons(self.group)):
            self.fail(
                "\n".join(reasons) + "\nFound by tracing with Keras told that there is a GPU. Stay with the "
                "version that has cuDNN, or choose a setting that keeps it: 'python -m lstm_models explain WORKLOAD'."
            )
