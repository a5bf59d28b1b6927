"""The table of kernels: asked of a worker, stored, read strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perf.harness.entry import Entry
from perf.harness.environment import Side
from perf.harness.errors import Refusal
from perf.harness.replies import CaseError
from perf.harness.selection import ask, decode_selection, encode_selection
from perf.harness.selection_records import Selection
from perf.harness.storing import dump
from perf.harness.workers import Worker, WorkerError
from tests import fake_selection
from tests.harness.selections import selection

ROOT = Path(__file__).parents[2]
FILE = Path("perf/baselines/fast-cpu.json")


def asked(tmp_path: Path, **script: Any) -> Selection:
    file = tmp_path / "script.json"
    file.write_text(json.dumps(script))
    side = Side(variables={"FAKE_WORKER_SCRIPT": str(file)})
    with Worker.start(side, "cpu", "tests.fake_worker", ROOT) as worker:
        return ask(worker, {"default": {}, "dropout": {}, "relu": {}})


def test_a_worker_is_asked_for_its_table_and_versions(tmp_path):
    found = asked(tmp_path, selection={"dropout/layer": "loop", "default/saved": None, "relu/layer": "loop"})
    kernels = {row.row: row.kernel for row in found.rows}
    assert kernels == {
        "default/layer": "cudnn",
        "default/bidirectional": "2x cudnn",
        "dropout/layer": "loop",
        "dropout/bidirectional": "2x cudnn",
        "relu/layer": "loop",
    }
    assert len(found.rows) == 2 * len(kernels)
    assert found.versions["keras"] == "3.15.1"
    row = found.by_key["dropout/bidirectional", "training"]
    assert (row.group, row.plain_kernel, row.setting, row.place) == (
        "dropout",
        "cudnn",
        "dropout=0.2",
        "in Bidirectional",
    )


def test_a_worker_that_cannot_make_the_table_says_why(tmp_path):
    with pytest.raises(WorkerError, match="selection raised RuntimeError: the fake engine's exception"):
        asked(tmp_path, selection_fault="exception")


class Answering:
    """Stands for a worker with one answer."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def describe(self) -> Any:
        return selection()

    def request(self, op: str, **fields: Any) -> dict[str, Any]:
        return {"rows": self.rows}


ROW = fake_selection.rows({})[0]
OTHER = {**ROW, "mode": "training"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (None, "'rows' must be a list"),
        ([], "the table is empty"),
        ([ROW, {**OTHER, "kernel": 3}], "objects of text"),
        ([ROW, {**OTHER, "more": "x"}], "objects of text"),
        ([ROW, {name: OTHER[name] for name in list(OTHER)[1:]}], "objects of text"),
        ([ROW, {**OTHER, "mode": "dreaming"}], "is no row"),
        ([ROW, {**OTHER, "jit": "auto"}], "is no row"),
        ([ROW, {**OTHER, "kernel": ""}], "is no row"),
        ([ROW, {**OTHER, "row": "default"}], "is no row"),
        ([ROW, ROW], "stands twice"),
        ([ROW], "row default/layer lacks one of inference, training"),
    ],
)
def test_an_answer_that_makes_no_sense_is_not_used(rows, said):
    with pytest.raises(CaseError, match="makes no sense") as caught:
        ask(Answering(rows), {"default": {}})
    assert said in caught.value.failure.message
    assert caught.value.failure.stage == "worker"


def stored(value: Any) -> Entry:
    return Entry(json.loads(dump(value)), FILE, "selection")


def test_what_was_stored_comes_back():
    one = selection(dropout_layer="mixed: cudnn 1, loop 1")
    assert decode_selection(stored(encode_selection(one))) == one


FAULTS = [
    (("schema",), 99, "form 99"),
    (("versions", "keras"), 3, "selection.versions.keras"),
    (("rows",), [], "at least 1"),
    (("rows", 0, "mode"), "dreaming", "one of inference, training"),
    (("rows", 0, "jit"), "auto", "selection.rows[0].jit"),
    (("rows", 0, "kernel"), "", "a kernel"),
    (("rows", 0, "kernel"), None, "text"),
    (("rows", 0, "row"), "default", "setting/place"),
    (("rows", 0, "more"), "x", "no such entry"),
    (("rows", 0, "mode"), "training", "stands twice"),
]


@pytest.mark.parametrize(("place", "value", "said"), FAULTS)
def test_a_damaged_table_is_refused_with_file_and_entry(place, value, said):
    encoded = encode_selection(selection())
    at: Any = encoded
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    with pytest.raises(Refusal) as caught:
        decode_selection(stored(encoded))
    assert said in str(caught.value)
    assert str(FILE) in str(caught.value)


@pytest.mark.parametrize("key", ["schema", "versions", "rows"])
def test_a_table_that_is_cut_short_is_refused(key):
    encoded = encode_selection(selection())
    del encoded[key]
    with pytest.raises(Refusal, match=f"selection.{key} is missing"):
        decode_selection(stored(encoded))


def test_a_row_without_its_other_mode_is_refused():
    encoded = encode_selection(selection())
    del encoded["rows"][-1]
    with pytest.raises(Refusal, match="dropout/bidirectional lacks one of"):
        decode_selection(stored(encoded))
