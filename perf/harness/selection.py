"""The table of kernels that Keras would pick on a GPU host: asked of a worker, stored as plain JSON, read strictly.

How it is found stands in the worker (``lstm_models.selection``); what a change in it means, in
:mod:`perf.harness.selection_verdict`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from perf.harness.codec import SCHEMA, check_schema
from perf.harness.entry import Entry
from perf.harness.replies import CaseError
from perf.harness.selection_records import MODES, PromotedSetting, Selection, SelectionRow

if TYPE_CHECKING:
    from perf.harness.workers import Worker

#: What ``jit_compile="auto"`` resolves to; empty where no model could be had.
_JIT = ("True", "False", "")
_FIELDS = tuple(field.name for field in fields(SelectionRow))


def ask(worker: Worker, settings: Mapping[str, Mapping[str, Any]]) -> Selection:
    """The table of ``settings`` in a worker's environment: two requests, some ten seconds for all settings there are;
    a GPU is neither needed nor used.

    The worker closes the case that is open there. Raises :class:`perf.harness.replies.CaseError`, as every request
    does, and for an answer that makes no sense.
    """
    versions = worker.describe().versions
    asked = {setting: dict(payload) for setting, payload in settings.items()}
    rows = worker.request("selection", settings=asked).get("rows")
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


def encode_setting(promoted: PromotedSetting) -> dict[str, Any]:
    """Plain JSON values, for baselines."""
    return {
        "suite": promoted.suite,
        "promoted": promoted.promoted.isoformat(timespec="seconds"),
        "reason": promoted.reason,
        "table": encode_selection(promoted.selection),
    }


def decode_setting(setting: str, entry: Entry) -> PromotedSetting:
    """Inverse of :func:`encode_setting`; refuses rows that are not of the setting that they stand under."""
    entry.closed("suite", "promoted", "reason", "table")
    table = decode_selection(entry["table"])
    if table.groups != (setting,):
        entry["table"]["rows"].refuse(f"rows of {setting!r} only, the setting that they stand under")
    return PromotedSetting(table, entry["suite"].text(), entry["promoted"].date(), entry["reason"].text())


def _decode_row(entry: Entry) -> SelectionRow:
    entry.closed(*_FIELDS)
    entry["mode"].text(MODES)
    entry["jit"].text(_JIT)
    if "/" not in entry["row"].text():
        entry["row"].refuse("a row's id, setting/place")
    if not entry["kernel"].text():
        entry["kernel"].refuse("a kernel")
    return SelectionRow(**{name: entry[name].text() for name in _FIELDS})
