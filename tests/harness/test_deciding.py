"""Suspects of stored numbers are measured next to their baseline's environment, or it is said why not."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perf.harness import paired_file
from perf.harness.builds import BuiltSide
from perf.harness.deciding import Decision, decide, same_packages
from perf.harness.environment import Side
from perf.harness.errors import Refusal
from perf.harness.journal import Journal
from perf.harness.measure import Progress, Settings
from perf.harness.paired_evidence import Metric
from perf.harness.records import Baseline, BaselineCase, Change, Comparison, Environment, Judgement, Machine, Verdict
from perf.harness.verdict import Margins
from tests.harness.makers import START, result
from tests.harness.test_measure import folders, spec

__all__ = ["folders"]

ROOT = Path(__file__).parents[2]
NOW = Environment({"python": "3.11.9"}, {"tensorflow": "2.21.0"}, {}, {"TF_NEW": "1"}, ())
THEN = replace(NOW, packages={"tensorflow": "2.20.0"}, variables={"TF_OLD": "1"})
QUIET = {"noise": 0.01, "process_noise": 0.005}
BringBack = Callable[[Environment, Mapping[str, str], Callable[[str], None]], BuiltSide]


class Setting:
    """A comparison in which all ``keys`` are suspected, twice as slow as stored."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setenv("FAKE_WORKER_SCRIPT", str(folder / "script.json"))

    def decide(
        self,
        environments: Mapping[str, Environment],
        bring_back: BringBack,
        *,
        budget: float | None = None,
        **script: Any,
    ) -> Decision:
        (self.folder / "script.json").write_text(json.dumps({"default": QUIET, **script}))
        machine = Machine({"cpu": "one"}, {"governor": "performance"}, "m")
        cases = {
            key: BaselineCase(key, "h", (("run", START, result()),), environment, "smoke", "built-in", START, "why")
            for key, environment in environments.items()
        }
        then = Machine({"cpu": "one"}, {"governor": "powersave"}, "m")
        judgements = {
            key: Judgement(key, Verdict.REGRESSED, f"{key}: slow.", Change(2.0, 1.9, 2.1, 0.9)) for key in cases
        }
        comparison = Comparison(Baseline("baseline", then, cases), judgements, (), (), None, tuple(cases))
        journal = Journal.start(self.folder / "pairs.jsonl", machine)
        try:
            return decide(
                comparison,
                {key: spec(key) for key in cases},
                {"cpu": NOW},
                machine,
                Margins(),
                Settings(root=ROOT, seed=1, module="tests.fake_worker", time_limit=20.0, budget=budget),
                Progress(),
                journal,
                bring_back,
            )
        finally:
            journal.close()


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    return Setting(tmp_path, monkeypatch)


def brings_back(recorded: Environment, now: Mapping[str, str], progress: Callable[[str], None]) -> BuiltSide:
    """As if the recorded environment was this interpreter: in it the workers are those of side ``then``."""
    assert (recorded, now) == (THEN, NOW.variables)
    side = Side(sys.executable, {"FAKE_WORKER_SIDE": "then"})
    return BuiltSide(side, ("python 3.11.2 -> another 3.11",), False, {})


def never(*_: object) -> BuiltSide:
    raise AssertionError("nothing has to be brought back")


def refuses(*_: object) -> BuiltSide:
    raise Refusal("The environment 'x' could not be built: no network.\nNothing was measured.")


def test_a_rebuilt_environment_that_is_faster_proves_the_framework_slower(setting: Setting) -> None:
    decision = setting.decide(
        {"a": THEN, "b": THEN}, brings_back, cases={"a": {"seconds_per_step": 0.005}},
        sides={"then": {"cases": {"a": {"seconds_per_step": 0.004}}}},
    )  # fmt: skip
    judgements = decision.comparison.judgements
    assert judgements["a"].verdict is Verdict.REGRESSED
    assert judgements["a"].side_by_side is not None
    assert judgements["a"].side_by_side.ratio == pytest.approx(1.25, abs=0.05)
    assert judgements["b"].verdict is Verdict.DRIFTED
    assert "governor powersave -> performance" in judgements["b"].reason
    assert decision.notes == ("python 3.11.2 -> another 3.11",)
    assert (decision.alone, decision.not_decided) == ({}, ())


def test_the_same_packages_need_nothing_brought_back(setting: Setting) -> None:
    recorded = replace(NOW, variables={})
    decision = setting.decide({"a": recorded}, never)
    assert decision.comparison.judgements["a"].verdict is Verdict.DRIFTED
    (outcome,) = decision.outcomes
    described = outcome.environments["baseline", "cpu"].variables
    assert "TF_NEW" not in described


def test_what_cannot_be_brought_back_is_left_to_the_stored_numbers(setting: Setting) -> None:
    decision = setting.decide({"a": THEN, "b": replace(NOW, variables={})}, refuses)
    judgements = decision.comparison.judgements
    assert judgements["a"].verdict is Verdict.REGRESSED
    assert "could not be built: no network" in judgements["a"].reason
    assert list(decision.alone) == ["a"]
    assert judgements["b"].verdict is Verdict.DRIFTED  # another environment, which can be had


def test_a_budget_that_is_spent_leaves_the_suspects_inconclusive(setting: Setting) -> None:
    decision = setting.decide({"a": replace(NOW, variables={})}, never, budget=0.0)
    assert decision.not_decided == ("a",)
    assert decision.comparison.judgements["a"].verdict is Verdict.INCONCLUSIVE
    assert "budget" in decision.comparison.judgements["a"].reason


def test_this_suites_own_version_makes_no_other_environment() -> None:
    assert same_packages(NOW, replace(NOW, packages={"TensorFlow": "2.21.0", "lstm_perf": "9", "pip": "1"}))
    assert not same_packages(NOW, THEN)
    assert not same_packages(NOW, replace(NOW, versions={"python": "3.12.1"}))


def test_stored_pairs_are_judged_again_to_the_same_verdicts(setting: Setting, tmp_path: Path) -> None:
    (outcome,) = setting.decide({"a": replace(NOW, variables={})}, never).outcomes
    kept = paired_file.record(
        outcome, date=START, machine=Machine({}, {}, "m"), profile="smoke", suite="built-in", sides=("x", "y"),
        margins=Margins(4.0, {"a": 3.0}), metrics=(Metric.STEP,),
    )  # fmt: skip
    path = paired_file.path_for(tmp_path, START)
    assert paired_file.keep(path, kept) == ""
    again = paired_file.read(path)
    assert (again.margins, again.sides, again.metrics, again.date) == (kept.margins, ("x", "y"), kept.metrics, START)
    assert {k: j.verdict for k, j in again.outcome().judgements.items()} == {
        k: j.verdict for k, j in kept.outcome().judgements.items()
    }
    damaged = json.loads(path.read_text())
    del damaged["screening"]["results"]["a"]["pairs"][0]["candidate"]
    path.write_text(json.dumps(damaged))
    with pytest.raises(Refusal, match="candidate"):
        paired_file.read(path)


def test_pairs_that_cannot_be_written_are_said(setting: Setting, tmp_path: Path) -> None:
    (outcome,) = setting.decide({"a": replace(NOW, variables={})}, never).outcomes
    kept = paired_file.record(
        outcome, date=START, machine=Machine({}, {}, "m"), profile="smoke", suite="built-in", sides=("x", "y"),
        margins=Margins(),
    )  # fmt: skip
    (tmp_path / "paired").write_text("a file where the folder should be")
    assert "could not be written" in paired_file.keep(paired_file.path_for(tmp_path, START), kept)
