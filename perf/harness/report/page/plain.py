"""The report as JSON, for other programs: the page's records as they are, every round included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from datetime import datetime
from typing import Any

from perf.harness.report.page.data import PageData

#: Form of report.json. History:
#: 1  first form
SCHEMA = 1


def as_plain(page: PageData, trend: Any = None) -> dict[str, Any]:
    """Records become objects by field name, dates ISO 8601; missing is null. ``trend`` is put in as it is."""
    found = _plain(replace(page, trend=None)) | {"trend": trend}
    counts = {state.word: count for state, count in page.counts.items()}
    return {"schema": SCHEMA, "counts": counts, **found}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return value
