"""Promotion is a decision on single cases, with a reason, of runs that belong together."""

from __future__ import annotations

import pytest

from perf.__main__ import main
from perf.harness import baseline as baselines
from perf.harness.errors import Refusal
from perf.harness.expression import selector
from perf.harness.promote import promote
from tests.harness import makers

A, B, C = (makers.key(number) for number in range(3))
THREE = [makers.run([makers.result(0.01, case) for case in range(3)], number) for number in (1, 2, 3)]


def test_runs_become_the_baseline_of_their_cases():
    promotion = promote(THREE, None, reason=" quiet machine ", now=makers.START, name="base.json")
    assert promotion.promoted == (A, B, C)
    assert promotion.left_out == {}
    case = promotion.baseline.cases[A]
    assert [name for name, _, _ in case.runs] == ["0001_night", "0002_night", "0003_night"]
    assert (case.reason, case.promoted) == ("quiet machine", makers.START)
    assert (case.hash, case.environment) == (makers.spec().hash, makers.environment())


def test_a_part_touches_only_its_cases():
    old = makers.baseline_of(*THREE)
    slower = makers.run([makers.result(0.02, case) for case in range(2)], 4, complete=False)
    promotion = promote([slower], old, select="w1", reason="new kernel", now=makers.START)
    assert promotion.promoted == (B,)
    assert {key: promotion.baseline.cases[key] for key in (A, C)} == {key: old.cases[key] for key in (A, C)}
    assert promotion.baseline.cases[B].runs[0][2] == slower.cases[B]


LEFT_OUT = [
    (makers.run([makers.result(0.01), makers.result(0.01, 1)], 4, red={A: "regressed"}), "red in run 0004_night"),
    (makers.run([makers.failed(0), makers.result(0.01, 1)], 4), "failed in run 0004_night: was killed"),
    (makers.run([makers.result(0.01, steady=False), makers.result(0.01, 1)], 4), "unsteady"),
    (makers.run([makers.result(0.01, 1)], 4), "absent from run 0004_night"),
    (makers.run([makers.result(0.01, facts=makers.facts(kernel="xla")), makers.result(0.01, 1)], 4), "alike"),
]


@pytest.mark.parametrize(("run", "why"), LEFT_OUT, ids=[why for _, why in LEFT_OUT])
def test_what_is_no_basis_is_left_out_and_named(run, why):
    old = makers.baseline_of(*THREE)
    promotion = promote([THREE[0], run], old, select="w0 or w1", reason="r", now=makers.START)
    assert promotion.promoted == (B,)
    assert why in promotion.left_out[A]
    assert promotion.baseline.cases[A] == old.cases[A]


REFUSED = [
    ([makers.run([makers.result(0.01)], 4, interrupted=True)], "0004_night was interrupted"),
    ([makers.run([makers.result(0.01)], 4, red={A: "slow"})], "No case of run 0004_night can be promoted"),
    ([THREE[0], THREE[0]], "named twice"),
    ([THREE[0], makers.run([makers.result(0.01)], 4, machine=makers.machine("Slow"))], "different hardware: cpu"),
    (
        [THREE[0], makers.run([makers.result(0.01)], 4, environments={"cpu": makers.environment("2.20.0")})],
        "different environments.*tensorflow 2.21.0 / 2.20.0",
    ),
    (
        [THREE[0], makers.run([makers.result(0.01)], 4, environments={"cpu": makers.environment(TF_X="1")})],
        "TF_X absent / 1",
    ),
    ([THREE[0], makers.run([makers.result(0.01, spec_changes={"hash": "f" * 16})], 4)], "defined differently"),
]


@pytest.mark.parametrize(("runs", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_runs_that_cannot_be_a_basis_are_refused(runs, why):
    with pytest.raises(Refusal, match=why):
        promote(runs, None, reason="r", now=makers.START)


def test_a_reason_and_a_case_are_needed():
    with pytest.raises(Refusal, match="--reason"):
        promote(THREE, None, reason="  ", now=makers.START)
    with pytest.raises(Refusal, match="'nothing' selects no case"):
        promote(THREE, None, select="nothing", reason="r", now=makers.START)


@pytest.mark.parametrize(
    ("expression", "selected"),
    [
        ("", "ABC"),
        ("w0", "A"),
        ("W0", "A"),
        ("w0 or w2", "AC"),
        ("forward and not w1", "AC"),
        ("not (w0 or w1)", "C"),
        ("forward[w1-b32-cpu-loop-float32]", "B"),
        ("not w0 and not w1", "C"),
        ("w0 or w1 and w2", "A"),
        ("backward", ""),
    ],
)
def test_expressions_select_as_in_pytest(expression, selected):
    matches = selector(expression)
    assert [key for key in (A, B, C) if matches(key)] == [
        key for letter, key in zip("ABC", (A, B, C), strict=True) if letter in selected
    ]


@pytest.mark.parametrize("expression", ["and", "w0 and", "(w0", "w0)", "w0 w1", "not", "()"])
def test_what_is_no_expression_is_refused(expression):
    with pytest.raises(Refusal, match="is no expression"):
        selector(expression)


@pytest.fixture
def stored(tmp_path):
    folder = tmp_path / "runs" / makers.machine().id
    for run in THREE:
        makers.store(folder, run)
    return tmp_path


def command(root, *arguments):
    return main(["promote", *arguments, "--storage", str(root / "runs"), "--baselines", str(root / "baselines")])


def test_the_command_writes_the_file_and_says_what_it_did(stored, capsys):
    assert command(stored, "1", "0002", "0003_night", "--reason", "first") == 0
    assert "3 promoted" in capsys.readouterr().out
    baseline = baselines.load(stored / "baselines", makers.machine())
    assert len(baseline.cases[A].runs) == 3
    makers.store(stored / "runs" / makers.machine().id, makers.run([makers.result(0.02), makers.failed(1)], 4))
    assert command(stored, "4", "--reason", "second") == 0
    out = capsys.readouterr().out
    assert "1 promoted, 2 as they were" in out
    assert "replaces the one of" in out
    assert "failed in run 0004_night" in out
    after = baselines.load(stored / "baselines", makers.machine())
    assert {key: after.cases[key] for key in (B, C)} == {key: baseline.cases[key] for key in (B, C)}


def test_a_path_is_taken_as_a_run(stored):
    assert command(stored, str(stored / "runs" / makers.machine().id / "0001_night.json"), "--reason", "r") == 0


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("9", "--reason", "r"), "There is no run '9'"),
        (("1", "--reason", ""), "--reason TEXT"),
        (("1", "-k", "nothing", "--reason", "r"), "selects no case"),
    ],
)
def test_what_is_refused_writes_nothing_and_exits_4_without_traceback(stored, capsys, arguments, why):
    assert command(stored, *arguments) == 4
    out, err = capsys.readouterr()
    assert why in err
    assert "Traceback" not in err + out
    assert not (stored / "baselines").exists()


def test_a_missing_reason_is_wrong_usage(stored, capsys):
    with pytest.raises(SystemExit) as left:
        command(stored, "1")
    assert left.value.code == 4
    assert "--reason" in capsys.readouterr().err


def test_a_damaged_baseline_is_not_overwritten(stored, capsys):
    path = baselines.path_for(stored / "baselines", makers.machine())
    path.parent.mkdir()
    path.write_text('{"schema": 1')
    assert command(stored, "1", "--reason", "r") == 4
    assert path.read_text() == '{"schema": 1'
    assert str(path) in capsys.readouterr().err


def test_runs_of_several_machines_under_one_name_are_told_apart_by_path(stored, capsys):
    makers.store(stored / "runs" / "other-9f", makers.run([makers.result(0.01)], 1))
    assert command(stored, "1", "--reason", "r") == 4
    assert "Several machines have a run '1'" in capsys.readouterr().err
