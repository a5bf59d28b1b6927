"""Which suspects are decided, and what a stored and a paired verdict make together."""

from __future__ import annotations

import pytest

from perf.harness import suspects
from perf.harness.records import Change, Judgement, Verdict

KEY = "forward[alpha-b1-cpu-loop-float32]"
TWICE = Change(2.0, 1.8, 2.2, 0.9)
SAME = Change(1.0, 0.98, 1.02, 0.9)


def stored(verdict: Verdict = Verdict.REGRESSED) -> Judgement:
    return Judgement(KEY, verdict, f"{KEY}: stored reason.", TWICE, 1.3, 5)


def paired(verdict: Verdict, change: Change | None = SAME) -> Judgement:
    return Judgement(KEY, verdict, f"{KEY}: paired reason.", change)


def test_up_to_eight_suspects_are_all_decided() -> None:
    names = tuple(f"case{number}" for number in range(8))
    assert suspects.choose(names, seed=1) == suspects.Choice(names, ())


def test_of_more_the_surest_five_and_three_drawn_from_the_seed() -> None:
    names = tuple(f"case{number:02}" for number in range(30))
    choice = suspects.choose(names, seed=1)
    assert choice.chosen[:5] == names[:5]
    assert len(choice.chosen) == 8
    assert sorted((*choice.chosen, *choice.left)) == sorted(names)
    assert suspects.choose(names, seed=1) == choice
    assert len({suspects.choose(names, seed).chosen for seed in range(20)}) > 10


@pytest.mark.parametrize("verdict", [v for v in Verdict if v.is_red])
def test_what_is_red_side_by_side_is_red(verdict: Verdict) -> None:
    judgement = suspects.decided(stored(Verdict.INCONCLUSIVE), paired(verdict, TWICE), baseline="base", machine="")
    assert judgement.verdict is verdict
    assert "paired reason" in judgement.reason
    assert "2.00 (1.80–2.20) times the time of base" in judgement.reason
    assert judgement.side_by_side == TWICE


@pytest.mark.parametrize("verdict", [Verdict.UNCHANGED, Verdict.IMPROVED])
def test_what_is_no_slower_side_by_side_is_the_machine_or_chance(verdict: Verdict) -> None:
    proved = suspects.decided(stored(), paired(verdict), baseline="base", machine="governor powersave -> performance")
    assert proved.verdict is Verdict.DRIFTED
    assert "powersave -> performance" in proved.reason
    assert proved.change == TWICE
    chance = suspects.decided(stored(Verdict.INCONCLUSIVE), paired(verdict), baseline="base", machine="")
    assert (chance.verdict, chance.reason, chance.side_by_side) == (Verdict.UNCHANGED, "", SAME)


def test_what_side_by_side_explains_less_than_half_of_is_a_drift_too() -> None:
    little, much = Change(1.02, 0.99, 1.3, 0.9), Change(1.02, 0.9, 1.5, 0.9)  # half of twice is 1.41
    drifted = suspects.decided(stored(), paired(Verdict.INCONCLUSIVE, little), baseline="base", machine="")
    assert drifted.verdict is Verdict.DRIFTED
    assert "explain less than half of it" in drifted.reason
    for before, after in ((stored(), much), (stored(Verdict.INCONCLUSIVE), little)):
        judgement = suspects.decided(before, paired(Verdict.INCONCLUSIVE, after), baseline="base", machine="")
        assert judgement.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("verdict", [Verdict.INCONCLUSIVE, Verdict.UNSTEADY])
def test_what_is_undecided_side_by_side_is_inconclusive_however_sure_the_numbers_were(verdict: Verdict) -> None:
    judgement = suspects.decided(stored(), paired(verdict, TWICE), baseline="base", machine="")
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "paired reason" in judgement.reason


def test_what_was_not_measured_again_is_never_red() -> None:
    judgement = suspects.left_undecided(stored(), "the budget ended")
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "the budget ended" in judgement.reason


def test_without_the_environment_the_stored_verdict_stands_and_says_so() -> None:
    judgement = suspects.by_numbers_alone(stored(), "no index has keras 9")
    assert judgement.verdict is Verdict.REGRESSED
    assert judgement.reason.startswith(f"{KEY}: stored reason.")
    assert "no index has keras 9" in judgement.reason
