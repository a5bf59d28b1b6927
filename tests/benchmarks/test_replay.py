"""Drawn sessions, and what the gate and a rule make of them."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from docs.benchmarks.gate_quality import __main__ as command
from docs.benchmarks.gate_quality import raw, replay
from docs.benchmarks.gate_quality.draws import draw, pools, slowed
from docs.benchmarks.gate_quality.ledger import Against
from docs.benchmarks.gate_quality.peers import Rule
from docs.benchmarks.gate_quality.replay import VIEWS, judge
from perf.harness.errors import Refusal
from perf.harness.paired_records import PairedMeasured
from perf.harness.records import Verdict
from tests.benchmarks.makers import Noise
from tests.harness.makers import key


@pytest.fixture(scope="module")
def pool():
    noise = Noise(1)
    return pools([noise.session(number, cases=3) for number in range(8)], 6)


def sessions(count: int = 8, cases: int = 1, **changes):
    noise = Noise(2)
    return [noise.session(number, cases, **changes) for number in range(count)]


def test_only_unchanged_sessions_in_one_environment_are_drawn_from():
    mixed = [*sessions(5), *sessions(3, factor=1.1), *sessions(3, against=Against.REBUILT)]
    assert len(pools(mixed, 6)[key()].sessions) == 5


def test_pairs_of_a_confirmation_are_drawn_from_too():
    more = sessions(2, pairs=10)
    both = [replace(one, confirmation=again.screening) for one, again in zip(sessions(2), more, strict=True)]
    with pytest.raises(Refusal, match="not enough A/A rounds"):
        pools(both, 6)  # 16 pairs outside of the session that a screen would be from
    assert [len(each) for each in pools([*both, *sessions(1)], 6)[key()].sessions] == [16, 16, 6]


def test_too_few_sessions_are_refused_with_what_to_run():
    with pytest.raises(Refusal, match=r"live --inject 1\.00 --sessions 5"):
        pools(sessions(4), 6)
    assert pools(sessions(5, pairs=6), 6)


def test_a_case_that_was_changed_in_between_is_refused():
    first, second = sessions(2)
    result = second.screening.results[key()]
    other = PairedMeasured({key(): replace(result, spec=replace(result.spec, hash="f" * 16))}, {}, {}, (), 1, 1.0)
    with pytest.raises(Refusal, match="defined otherwise"):
        pools([first, replace(second, screening=other)], 6)


def test_a_drawn_session_uses_no_pair_twice_and_screens_one_real_session(pool):
    drawn = draw(pool, 6, random.Random(5))
    for name, result in drawn.screen.items():
        rounds = [
            frozenset({pair.baseline.seconds_per_round, pair.candidate.seconds_per_round})
            for pair in (*result.pairs, *drawn.fresh[name])
        ]
        assert (len(rounds), len(set(rounds))) == (26, 26)
        together = [
            {frozenset({pair.baseline.seconds_per_round, pair.candidate.seconds_per_round}) for pair in each}
            for each in pool[name].sessions
        ]
        assert set(rounds[:6]) in together


def test_labels_are_exchanged_in_half_of_the_pairs_so_that_a_bias_is_gone():
    noise = Noise(6, process_sd=0.0, round_sd=0.001)
    real = [noise.session(number, cases=1) for number in range(6)]
    biased = pools(
        [
            replace(
                one,
                screening=replace(
                    one.screening,
                    results={name: slowed_result(result, 1.03) for name, result in one.screening.results.items()},
                ),
            )
            for one in real
        ],
        6,
    )
    chance = random.Random(7)
    ratios = [pair.log_ratio for _ in range(100) for pair in draw(biased, 6, chance).screen[key()].pairs]
    assert sum(ratio > 0 for ratio in ratios) / len(ratios) == pytest.approx(0.5, abs=0.06)
    assert {round(abs(ratio), 2) for ratio in ratios} == {0.03}


def slowed_result(result, factor):
    pairs = tuple(
        replace(
            pair,
            candidate=replace(
                pair.candidate, seconds_per_round=tuple(factor * one for one in pair.candidate.seconds_per_round)
            ),
        )
        for pair in result.pairs
    )
    return replace(result, pairs=pairs)


def test_a_factor_is_seen_in_every_pair_of_its_case_only(pool):
    drawn = draw(pool, 6, random.Random(8))
    after = slowed(drawn, key(1), 1.1)
    for before, now in zip(drawn.screen[key(1)].pairs, after.screen[key(1)].pairs, strict=True):
        assert now.log_ratio - before.log_ratio == pytest.approx(0.09531, abs=1e-5)
        assert now.baseline == before.baseline
    assert after.screen[key(0)] == drawn.screen[key(0)]
    assert after.fresh[key(1)][0].log_ratio > drawn.fresh[key(1)][0].log_ratio


def test_a_slowed_case_is_confirmed_by_fresh_pairs_and_counted(pool):
    judged, pairs = judge(slowed(draw(pool, 6, random.Random(9)), key(2), 1.25), 5.0)
    assert judged[key(2)].verdict is Verdict.REGRESSED
    assert pairs == {key(0): 6, key(1): 6, key(2): 16}


def test_peers_see_one_process_each_one_after_the_other_or_all_of_them(pool):
    pairs = draw(pool, 6, random.Random(10)).screen[key()].pairs
    one, all_ = (view.rounds(pairs) for view in VIEWS)
    assert one[0] == [seconds / 4 for seconds in pairs[0].baseline.seconds_per_round]
    assert one[1] == [seconds / 4 for seconds in pairs[1].candidate.seconds_per_round]
    assert [len(side) for side in all_] == [120, 120]
    assert [view.pairs(pairs) for view in VIEWS] == [1, 6]


def test_the_gate_is_never_red_without_a_cause_and_finds_what_it_should(pool):
    always = Rule("always", "", lambda baseline, candidate: True)
    never = Rule("never", "", lambda baseline, candidate: False)
    tallies = replay.replay(pool, [always, never], sessions=60, pairs=6, seed=1)
    two, five, always_one, always_all, never_one, _ = tallies
    for gate in (two, five):
        assert (gate.cases, gate.cases_red, gate.suites, gate.suites_red, gate.slowed) == (180, 0, 60, 0, 60)
        assert gate.found[1.25] == 60
    assert two.found[1.05] > five.found[1.05]
    assert (five.found[1.10], two.found[1.10]) == (60, 60)
    assert 6 <= five.pairs / five.cases < 7
    assert five.pairs_slowed / (3 * five.slowed) > 10
    assert five.rounds / five.cases >= 120
    assert (always_one.cases_red, always_one.suites_red, always_one.found[1.05]) == (180, 60, 60)
    assert (always_one.pairs, always_all.pairs, always_one.rounds, always_all.rounds) == (180, 1080, 3600, 21600)
    assert (never_one.cases_red, never_one.found[1.25]) == (0, 0)


def test_equal_seeds_give_equal_tallies_and_others_do_not(pool):
    rule = Rule("mean", "", lambda baseline, candidate: sum(candidate) > sum(baseline))
    once, again, other = (replay.replay(pool, [rule], sessions=5, pairs=6, seed=seed) for seed in (3, 3, 4))
    assert once == again
    assert once != other


def test_the_command_prints_the_table(tmp_path, capsys):
    for one in sessions(6, cases=2):
        raw.write(tmp_path, one)
    assert command.main(["replay", "--data", str(tmp_path), "--sessions", "3"]) == 0
    shown = capsys.readouterr().out
    assert "3 sessions of 2 cases, drawn from the rounds of 6 real A/A sessions" in shown
    assert "| this gate, margin 5 % | pairs, then fresh ones | 0 of 6 (below 39 %) | 0 of 3 (below 63 %) |" in shown
    assert len([line for line in shown.splitlines() if line.startswith("|")]) == 2 + 2 + 10
    assert command.main(["replay", "--data", str(tmp_path), "--sampled-at", "2"]) == 4
    assert "not enough A/A rounds" in capsys.readouterr().err
