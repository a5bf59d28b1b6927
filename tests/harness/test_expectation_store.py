"""Expectations in files: whole, strict, and judged again when read."""

from __future__ import annotations

import json
import math
from datetime import timedelta

import pytest

from perf.harness import baseline as baselines
from perf.harness import expectation_store
from perf.harness.entry import Entry, read_json
from perf.harness.errors import Refusal
from perf.harness.expectation_records import Kind, State, Where
from perf.harness.expectation_store import Kept
from perf.harness.records import Failure
from perf.harness.runs import BLOCK, read_run
from perf.harness.storing import write_whole
from tests.harness import makers
from tests.harness.expectation_makers import around, contender, crossover, expectation, observed

CURVE = {1: around(0.4), 4: around(0.2), 16: around(-0.2), 64: around(-0.4)}
EXPECTED = (
    crossover(id="crosses", at=8, ratio=1.1),
    expectation("threads", second=contender("b", (1,), OMP_NUM_THREADS="1")),
)
OBSERVED = {"crosses": observed(CURVE), "threads": observed({1: around(-1.0)}, steady=False)}


def run_file(folder, expectations=EXPECTED, found=OBSERVED, number=1):
    one = makers.run([makers.result()], number)
    content = makers.run_json(one)
    content[BLOCK][expectation_store.BLOCK] = expectation_store.encode_all(expectations, found)
    path = folder / f"{one.name}.json"
    write_whole(path, content)
    return path


def test_what_was_written_is_read(tmp_path):
    kept = expectation_store.of_run(run_file(tmp_path), BLOCK)
    assert [one.expectation for one in kept.values()] == list(EXPECTED)
    assert {id: one.observed for id, one in kept.items()} == OBSERVED
    assert kept["crosses"].run == "0001_night"


def test_the_curve_and_the_crossing_are_derived_on_reading(tmp_path):
    result = expectation_store.judged(expectation_store.of_run(run_file(tmp_path), BLOCK))["crosses"]
    assert result.state is State.HOLDS
    assert (result.crossing.low, result.crossing.high) == (4.0, 16.0)
    assert result.curve[0].change.ratio == pytest.approx(math.exp(0.4))


def test_a_run_with_expectations_is_a_run_and_older_ones_have_none(tmp_path):
    assert read_run(run_file(tmp_path)) == makers.run([makers.result()])
    assert expectation_store.of_run(makers.store(tmp_path, makers.run([makers.result()], 2)), BLOCK) == {}


def test_what_failed_or_was_not_measured_is_not_kept():
    found = {
        "crosses": observed(CURVE, failure=Failure("worker", "was killed")),
        "threads": observed({1: ()}),
    }
    assert expectation_store.encode_all(EXPECTED, found) == []
    assert expectation_store.encode_all(EXPECTED, {}) == []


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda one: one["promised"].pop("reason"), "reason is missing"),
        (lambda one: one["promised"].update(kind="race"), "kind"),
        (lambda one: one["promised"].update(speed=1), "speed"),
        (lambda one: one["observed"].pop(), "one entry for each of the sizes"),
        (lambda one: one["observed"][0]["log_ratios"].pop(), "one number for each of 6 processes"),
        (lambda one: one["observed"][0]["first"].__setitem__(0, 0), "above 0"),
        (lambda one: one["promised"]["first"]["cases"].pop(), "a case for each of 4 sizes"),
    ],
)
def test_a_changed_file_is_refused_as_a_run(tmp_path, change, named):
    path = run_file(tmp_path)
    content = json.loads(path.read_text())
    change(content[BLOCK][expectation_store.BLOCK][0])
    path.write_text(json.dumps(content))
    with pytest.raises(Refusal, match=r"0001_night\.json") as refusal:
        read_run(path)
    assert named in str(refusal.value)


def kept(run: str, days: int, by_size=CURVE, **changes) -> dict[str, Kept]:
    one = crossover(id="crosses", **{"at": 8, "ratio": 1.1, **changes})
    return {one.id: Kept(run, makers.START + timedelta(days=days), one, observed(by_size))}


def test_a_baseline_keeps_them_through_a_write(tmp_path):
    path = baselines.path_for(tmp_path, makers.machine())
    baseline = makers.baseline_of(makers.run([makers.result()]))
    baselines.write(path, baseline, kept("a", 1))
    assert baselines.load(tmp_path, makers.machine()).cases == baseline.cases
    assert expectation_store.of_baseline(path) == kept("a", 1)
    baselines.write(path, baseline)
    assert not read_json(path).has(expectation_store.BLOCK)


def test_one_under_another_name_is_refused(tmp_path):
    content = {expectation_store.BLOCK: {"other": expectation_store.encode_kept(kept("a", 1))["crosses"]}}
    with pytest.raises(Refusal, match="the name that it stands under"):
        expectation_store.decode_kept(Entry(content, tmp_path / "b.json"))


def test_the_last_run_is_promoted_and_what_it_lacks_stays():
    old = {**kept("old", 0), "gone": kept("old", 0)["crosses"]}
    found = expectation_store.promoted([kept("second", 2), {}, kept("first", 1)], old, "")
    assert {id: one.run for id, one in found.items()} == {"crosses": "second", "gone": "old"}
    assert expectation_store.promoted([kept("second", 2)], old, "forward") == old


def test_a_broken_one_is_not_promoted():
    broken = kept("broken", 3, where=Where.BELOW, kind=Kind.CROSSOVER)
    assert expectation_store.judged(broken)["crosses"].state is State.BROKEN
    assert expectation_store.promoted([broken], {}, "") == {}
