"""The table of kernels that Keras would pick on a GPU host: asked of a worker, stored as plain JSON, read strictly.

How it is found stands in the worker (``lstm_models.selection``); what a change in it means, in
:mod:`perf.harness.selection_verdict`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from perf.harness.codec import SCHEMA, check_schema
from perf.harness.entry import Entry
from perf.harness.replies import CaseError

if TYPE_CHECKING:
    from perf.harness.workers import Worker

MODES = ("inference", "training")
#: Kernels that are none: this Keras lacks the option, so the row says nothing; or Keras raised.
NOT_COMPARABLE, FAILS = "not comparable", "fails"
#: What ``jit_compile="auto"`` resolves to; empty where no model could be had.
_JIT = ("True", "False", "")
_COUNT = re.compile(r"^[0-9]+x ")


@dataclass(frozen=True, slots=True)
class SelectionRow:
    """One layer configuration in one place and mode, as the worker found it; all of it text.

    ``row`` is a stable id, ``dropout/bidirectional``: its group (the setting), a slash, the place. ``kernel``:
    ``cudnn``, ``loop``, ``unrolled``, with ``2x`` where two LSTMs have it, ``mixed: ...``, :data:`FAILS` or
    :data:`NOT_COMPARABLE`. ``jit``: ``True``, ``False`` or empty. ``note`` says what else there is to know.
    ``setting`` and ``place`` are the id in words: ``dropout=0.2``, ``in Bidirectional``.
    """

    row: str
    mode: str
    kernel: str
    jit: str
    note: str
    setting: str
    place: str

    @property
    def group(self) -> str:
        """The setting's id."""
        return self.row.split("/")[0]

    @property
    def plain_kernel(self) -> str:
        """The kernel without the number of LSTMs that have it, which is the place's and not Keras's."""
        return _COUNT.sub("", self.kernel)


@dataclass(frozen=True, slots=True)
class Selection:
    """The whole table of one environment; ``versions`` by name, as the worker describes them."""

    rows: tuple[SelectionRow, ...]
    versions: Mapping[str, str]

    @property
    def by_key(self) -> dict[tuple[str, str], SelectionRow]:
        """By id and mode, in the order of the table."""
        return {(row.row, row.mode): row for row in self.rows}


_FIELDS = tuple(field.name for field in fields(SelectionRow))


def ask(worker: Worker) -> Selection:
    """The table of a worker's environment: two requests, some ten seconds; a GPU is neither needed nor used.

    The worker closes the case that is open there. Raises :class:`perf.harness.replies.CaseError`, as every request
    does, and for an answer that makes no sense.
    """
    versions = worker.describe().versions
    rows = worker.request("selection").get("rows")
    if not isinstance(rows, list) or not all(_is_row(row) for row in rows):
        raise _nonsense(f"'rows' must be a list of objects of text with {', '.join(_FIELDS)}, but it is {rows!r:.200}")
    found = tuple(SelectionRow(**row) for row in rows)
    if fault := _fault(found):
        raise _nonsense(fault)
    return Selection(found, versions)


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and set(row) == set(_FIELDS) and all(isinstance(text, str) for text in row.values())


def _nonsense(what: str) -> CaseError:
    return CaseError("worker", f"The worker's answer to 'selection' makes no sense: {what}. Nothing of it was used.")


def _fault(rows: Sequence[SelectionRow]) -> str:
    """What is wrong with a table as a whole; "" where nothing is."""
    if not rows:
        return "the table is empty"
    seen: set[tuple[str, str]] = set()
    for row in rows:
        if row.mode not in MODES or row.jit not in _JIT or not row.kernel or "/" not in row.row:
            return f"{row} is no row"
        if (row.row, row.mode) in seen:
            return f"row {row.row}, {row.mode} stands twice"
        seen.add((row.row, row.mode))
    incomplete = sorted({row for row, _ in seen if {(row, mode) for mode in MODES} - seen})
    return f"row {incomplete[0]} lacks one of {', '.join(MODES)}" if incomplete else ""


def encode_selection(selection: Selection) -> dict[str, Any]:
    """Plain JSON values, for run files and baselines."""
    return {
        "schema": SCHEMA,
        "versions": dict(selection.versions),
        "rows": [asdict(row) for row in selection.rows],
    }


def decode_selection(entry: Entry) -> Selection:
    """Inverse of :func:`encode_selection`; raises :class:`perf.harness.errors.Refusal` naming file and entry."""
    check_schema(entry)
    entry.closed("schema", "versions", "rows")
    rows = tuple(_decode_row(row) for row in entry["rows"].elements(at_least=1))
    if fault := _fault(rows):
        entry["rows"].refuse(f"each row once in each mode ({fault})")
    return Selection(rows, entry["versions"].texts())


def _decode_row(entry: Entry) -> SelectionRow:
    entry.closed(*_FIELDS)
    entry["mode"].text(MODES)
    entry["jit"].text(_JIT)
    if "/" not in entry["row"].text():
        entry["row"].refuse("a row's id, setting/place")
    if not entry["kernel"].text():
        entry["kernel"].refuse("a kernel")
    return SelectionRow(**{name: entry[name].text() for name in _FIELDS})
