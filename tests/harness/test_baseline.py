"""A baseline is found by hardware and never replaced by something that happens to be there."""

from __future__ import annotations

import json

import pytest

from perf.harness import baseline as baselines
from perf.harness.errors import Refusal
from tests.harness import makers

RUNS = [makers.run([makers.result(0.01), makers.result(0.02, 1)], number) for number in (1, 2, 3)]
BASELINE = makers.baseline_of(*RUNS)


def test_a_baseline_comes_back_under_its_path(tmp_path):
    path = baselines.path_for(tmp_path, makers.machine())
    baselines.write(path, BASELINE)
    found = baselines.load(tmp_path, makers.machine())
    assert found.name == str(path)
    assert (found.machine, found.cases) == (BASELINE.machine, BASELINE.cases)


def test_equal_environments_are_stored_once_and_rewriting_changes_nothing(tmp_path):
    path = baselines.path_for(tmp_path, makers.machine())
    baselines.write(path, BASELINE)
    before = path.read_bytes()
    assert len(json.loads(before)["environments"]) == 1
    baselines.write(path, baselines.read(path))
    assert path.read_bytes() == before


def test_no_baseline_names_the_commands_that_make_one(tmp_path):
    with pytest.raises(Refusal, match=r"no baseline for this machine.*--benchmark-save=NAME.*python -m perf promote"):
        baselines.load(tmp_path / "none", makers.machine())


def test_baselines_of_other_machines_are_named_with_what_differs(tmp_path):
    other = makers.machine("Slow CPU", "slow-cpu-3c4d")
    baselines.write(baselines.path_for(tmp_path, other), makers.baseline_of(*RUNS))
    (tmp_path / "damaged.json").write_text("{")
    with pytest.raises(Refusal) as refused:
        baselines.load(tmp_path, other.__class__({"cpu": "Third CPU", "gpu": "H"}, {}, "third"))
    text = str(refused.value)
    assert "cpu: 'Fast CPU' there, 'Third CPU' here" in text
    assert "gpu: 'absent' there, 'H' here" in text
    assert "slow-cpu-3c4d.json" in text
    assert "damaged.json" in text


def test_a_copied_baseline_of_other_hardware_is_refused(tmp_path):
    here = makers.machine("Slow CPU", "slow-cpu-3c4d")
    baselines.write(baselines.path_for(tmp_path, here), BASELINE)
    with pytest.raises(Refusal, match=r"other hardware.*cpu: 'Fast CPU' there, 'Slow CPU' here"):
        baselines.load(tmp_path, here)


def test_another_host_name_is_the_same_hardware(tmp_path):
    baselines.write(baselines.path_for(tmp_path, makers.machine()), BASELINE)
    assert baselines.load(tmp_path, makers.machine(host="b")).cases == BASELINE.cases


KEY = makers.key()
FAULTS = [
    (lambda f: f.pop("machine"), "machine is missing"),
    (lambda f: f.update(schema=99), "form 99"),
    (lambda f: f.update(cases={}), "at least one case"),
    (lambda f: f.update(extra=1), "extra"),
    (lambda f: f["cases"][KEY].update(environment="?"), "environment"),
    (lambda f: f["cases"][KEY].update(runs=[]), "at least 1"),
    (lambda f: f["cases"][KEY].update(hash="0" * 16), "hash"),
    (lambda f: f["cases"][KEY]["runs"][1].update(date="2025"), r"runs\[1\].date"),
    (lambda f: f["cases"].update({KEY: f["cases"][makers.key(1)]}), "the case that it stands under"),
    (lambda f: f["cases"][KEY]["runs"][0]["result"]["samples"][0].update(seconds_per_round=[0]), "above 0"),
    (lambda f: f["cases"][KEY]["runs"][0]["result"].update(failure={"stage": "a", "message": "b"}), "no failure"),
]


@pytest.mark.parametrize(("damage", "why"), FAULTS, ids=[why for _, why in FAULTS])
def test_a_damaged_baseline_is_refused_with_file_and_entry(tmp_path, damage, why):
    path = baselines.path_for(tmp_path, makers.machine())
    baselines.write(path, BASELINE)
    stored = json.loads(path.read_text())
    damage(stored)
    path.write_text(json.dumps(stored))
    with pytest.raises(Refusal, match=why) as refused:
        baselines.load(tmp_path, makers.machine())
    assert str(path) in str(refused.value)


def test_a_named_run_is_a_baseline_of_what_it_measured():
    run = makers.run([makers.result(0.01), makers.failed(1), makers.result(0.01, 2, steady=False)])
    baseline = baselines.from_run(run, makers.machine())
    assert baseline.name == f"run {run.name}"
    assert list(baseline.cases) == [KEY]
    assert baseline.cases[KEY].runs == ((run.name, run.date, run.cases[KEY]),)


def test_a_named_run_of_other_hardware_or_without_cases_is_refused():
    with pytest.raises(Refusal, match="other hardware"):
        baselines.from_run(RUNS[0], makers.machine("Slow CPU"))
    with pytest.raises(Refusal, match="no case that was measured"):
        baselines.from_run(makers.run([makers.failed()]), makers.machine())
