"""Run files: found by name, read strictly, and a history that warns of what it leaves out."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from perf.harness.errors import Refusal
from perf.harness.runs import find_run, history, next_path, read_run
from perf.harness.storing import write_whole
from tests.harness import makers

RUN = makers.run(
    [makers.result([0.01, 0.011]), makers.result(0.02, 1), makers.failed(2)], 3, red={makers.key(1): "regressed"}
)


def test_a_run_comes_back(tmp_path):
    assert read_run(makers.store(tmp_path, RUN)) == RUN


def test_cases_without_any_measurement_are_not_stored(tmp_path):
    run = makers.run([makers.result(0.01), makers.result([], 1)])
    assert set(read_run(makers.store(tmp_path, run)).cases) == {makers.key(0)}


FAULTS = [
    (lambda f: f.pop("lstm_perf"), "lstm_perf is missing"),
    (lambda f: f.pop("benchmarks"), "benchmarks is missing"),
    (lambda f: f["benchmarks"][0].pop("extra_info"), r"benchmarks\[0\].extra_info is missing"),
    (lambda f: f["benchmarks"][0]["extra_info"].clear(), r"benchmarks\[0\].extra_info.lstm_perf is missing"),
    (lambda f: f["benchmarks"][1]["stats"].update(mean=0), r"benchmarks\[1\].stats.mean"),
    (lambda f: f["benchmarks"][1]["stats"].update(median="fast"), r"benchmarks\[1\].stats.median"),
    (lambda f: f["benchmarks"].append(f["benchmarks"][0]), "each case once"),
    (lambda f: f["lstm_perf"].update(schema=99), "form 99"),
    (lambda f: f["lstm_perf"].pop("seed"), "lstm_perf.seed is missing"),
    (lambda f: f["lstm_perf"].update(date="yesterday"), "lstm_perf.date"),
    (lambda f: f["lstm_perf"].update(date="2025-01-01T00:00:00"), "time zone"),
    (lambda f: f["lstm_perf"].update(complete="yes"), "lstm_perf.complete"),
    (lambda f: f["lstm_perf"].update(environments={}), "a device of lstm_perf.environments"),
    (lambda f: f["lstm_perf"]["machine"].pop("identity"), "machine.identity is missing"),
    (lambda f: (f["benchmarks"].clear(), f["lstm_perf"]["failed"].clear()), "holds no case"),
]


@pytest.mark.parametrize(("damage", "why"), FAULTS, ids=[why for _, why in FAULTS])
def test_a_damaged_run_is_refused_with_file_and_entry(tmp_path, damage, why):
    stored = makers.run_json(RUN)
    damage(stored)
    path = tmp_path / "0003_night.json"
    write_whole(path, stored)
    with pytest.raises(Refusal, match=why) as refused:
        read_run(path)
    assert str(path) in str(refused.value)


def test_a_cut_run_is_refused_wherever_it_was_cut(tmp_path):
    text = json.dumps(makers.run_json(RUN))
    path = tmp_path / "0003_night.json"
    for end in range(0, len(text) - 1, 97):
        path.write_text(text[:end])
        with pytest.raises(Refusal, match=r"0003_night\.json"):
            read_run(path)


@pytest.mark.parametrize("text", ["0003", "3", "before", "0003_before"])
def test_a_run_is_found_by_number_name_and_both(tmp_path, text):
    for name in ("0002_other", "0003_before", "notes"):
        (tmp_path / f"{name}.json").write_text("{}")
    assert find_run(tmp_path, text) == tmp_path / "0003_before.json"
    assert find_run(tmp_path / "nowhere", str(tmp_path / "notes.json")) == tmp_path / "notes.json"


def test_an_unknown_run_is_refused_with_what_there_is(tmp_path):
    with pytest.raises(Refusal, match=r"no run of this machine.*--benchmark-save=NAME"):
        find_run(tmp_path, "3")
    for number in range(12):
        (tmp_path / f"{number:04d}_night.json").write_text("{}")
    with pytest.raises(Refusal, match=r"There is no run 'day'.*0011_night and 2 older.*--benchmark-save=NAME"):
        find_run(tmp_path, "day")
    with pytest.raises(Refusal, match="'night' stands for several runs"):
        find_run(tmp_path, "night")


def test_the_history_is_by_date_and_warns_of_what_it_leaves_out(tmp_path):
    late = makers.run([makers.result(0.01)], 1, date=makers.START + timedelta(days=9))
    early = makers.run([makers.result(0.01)], 2)
    for run in (
        late,
        early,
        makers.run([makers.result(0.01)], 3, complete=False),
        makers.run([makers.result(0.01)], 4, interrupted=True),
    ):
        makers.store(tmp_path, run)
    (tmp_path / "0005_broken.json").write_text('{"benchmarks": [')
    found = history(tmp_path)
    assert [run.name for run in found.runs] == [early.name, late.name]
    assert len(found.warnings) == 1
    assert "0005_broken.json" in found.warnings[0]
    assert history(tmp_path / "nowhere").runs == ()


def test_the_next_number_is_free(tmp_path):
    assert next_path(tmp_path / "none", "a").name == "0001_a.json"
    (tmp_path / "0009_b.json").write_text("{}")
    (tmp_path / "notes.json").write_text("{}")
    assert next_path(tmp_path, "a").name == "0010_a.json"
