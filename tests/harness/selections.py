"""Small tables of kernels for tests."""

from __future__ import annotations

from collections.abc import Mapping

from perf.harness.selection_records import Selection, SelectionRow
from tests import fake_selection


def selection(keras: str = "3.4.1", tensorflow: str = "2.17.1", **kernels: str | None) -> Selection:
    """The fake worker's table with other kernels laid over it: ``dropout_layer="loop"`` means ``dropout/layer``."""
    laid_over = {name.replace("_", "/", 1): kernel for name, kernel in kernels.items()}
    return made(fake_selection.rows(laid_over), keras, tensorflow)


def made(rows: list[dict[str, str]], keras: str = "3.4.1", tensorflow: str = "2.17.1") -> Selection:
    versions = {"python": "3.11.2", "tensorflow": tensorflow, "keras": keras}
    return Selection(tuple(SelectionRow(**row) for row in rows), versions)


def with_fields(selection: Selection, row: str, mode: str, fields: Mapping[str, str]) -> Selection:
    """The table with one row changed."""
    rows = [{name: getattr(one, name) for name in SelectionRow.__slots__} for one in selection.rows]
    changed = [{**one, **fields} if (one["row"], one["mode"]) == (row, mode) else one for one in rows]
    return Selection(tuple(SelectionRow(**one) for one in changed), selection.versions)
