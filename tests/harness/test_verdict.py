"""The decision: exact facts, then what the times of a whole suite say together."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perf.harness.records import Verdict
from perf.harness.verdict import Margins, compare
from tests.harness import makers

NOW = {"cpu": makers.environment()}
FIVE_PERCENT = Margins()


def judge(results, baseline, history=(), *, now=NOW, margins=FIVE_PERCENT, excused=()):
    return compare({r.spec.key: r for r in results}, now, baseline, history, margins, excused=excused)


def runs_of(columns, *, first=1):
    """Runs from ln-times: one row per run, one column per case."""
    return [
        makers.run([makers.result(0.01 * math.exp(y), number) for number, y in enumerate(row)], first + index)
        for index, row in enumerate(columns)
    ]


def verdicts(comparison):
    return [str(judgement.verdict) for judgement in comparison.judgements.values()]


QUIET = runs_of([[0.0] * 24, [0.004] * 24, [-0.004] * 24])
BASELINE = makers.baseline_of(*QUIET)


def test_the_same_times_are_unchanged():
    comparison = judge([makers.result(0.01, number) for number in range(24)], BASELINE, QUIET)
    assert set(verdicts(comparison)) == {"unchanged"}
    assert comparison.run_effect is not None
    assert comparison.run_effect.ratio == pytest.approx(1, abs=0.001)
    judgement = comparison.judgements[makers.key()]
    assert judgement.reason == ""
    assert judgement.history_runs == 3
    assert judgement.change is not None
    assert judgement.change.low < judgement.change.ratio < judgement.change.high


def test_one_case_twice_as_slow_is_regressed_and_its_message_can_be_acted_on():
    results = [makers.result(0.02 if number == 5 else 0.01, number) for number in range(24)]
    newer = {"cpu": makers.environment("2.22.0")}
    comparison = judge(results, BASELINE, QUIET, now=newer)
    assert verdicts(comparison).count("regressed") == 1
    judgement = comparison.judgements[makers.key(5)]
    assert judgement.verdict is Verdict.REGRESSED
    assert judgement.change is not None
    assert judgement.change.low > 1
    assert judgement.change.level > 0.99  # the level that decided among 24
    for part in (
        makers.key(5), "2.0", "interval", "10.0 ms then, 20.0 ms now", "fast-cpu-1a2b.json", "2025-04-11",
        "3 runs (first)", "tensorflow 2.21.0 -> 2.22.0", "keras 3.15.1 (same)", "margin is 5 %", "--trace DIR",
    ):  # fmt: skip
        assert part in judgement.reason


def test_half_the_time_is_improved():
    results = [makers.result(0.005 if number == 5 else 0.01, number) for number in range(24)]
    assert verdicts(judge(results, BASELINE, QUIET)).count("improved") == 1


def test_a_change_within_the_margin_is_not_red_however_sure():
    comparison = judge([makers.result(0.0104, number) for number in range(24)], BASELINE, QUIET)
    assert "regressed" not in verdicts(comparison)
    wide = Margins(5.0, {makers.key(3): 150.0})
    results = [makers.result(0.02, number) for number in range(24)]
    found = judge(results, BASELINE, QUIET, margins=wide).judgements
    assert found[makers.key(3)].verdict is not Verdict.REGRESSED
    assert found[makers.key(2)].verdict is Verdict.REGRESSED


def test_few_runs_see_only_twice_as_slow_and_say_so():
    baseline = makers.baseline_of(*QUIET[:1])
    results = [makers.result({1: 0.02, 2: 0.015}.get(number, 0.01), number) for number in range(24)]
    comparison = judge(results, baseline, QUIET[:1])
    assert comparison.judgements[makers.key(1)].verdict is Verdict.REGRESSED
    suspected = comparison.judgements[makers.key(2)]
    assert suspected.verdict is Verdict.INCONCLUSIVE
    assert "suspected slower" in suspected.reason
    assert "15 %" in suspected.reason
    assert suspected.smallest_visible == pytest.approx(1.84, abs=0.01)
    assert comparison.judgements[makers.key(3)].verdict is Verdict.INCONCLUSIVE


def test_the_smallest_visible_change_is_where_red_begins():
    noisy = makers.baseline_of(*runs_of([[0.03, -0.03], [0.0, 0.06], [-0.03, -0.03]]))
    for baseline, least in ((noisy, 1.1), (BASELINE, 1.05)):
        limit = judge([makers.result(0.01)], baseline).judgements[makers.key()].smallest_visible
        assert limit is not None
        assert least <= limit < 1.4
        assert verdicts(judge([makers.result(0.01 * limit * 1.001)], baseline)) == ["regressed"]
        assert verdicts(judge([makers.result(0.01 * limit * 0.999)], baseline)) != ["regressed"]


def test_more_history_sees_smaller_changes():
    noise = np.random.default_rng(3).normal(scale=0.03, size=(20, 24))
    many = runs_of(noise)
    results = [makers.result(0.01, number) for number in range(24)]

    def limit(promoted, history):
        return judge(results, makers.baseline_of(*promoted), history).judgements[makers.key()].smallest_visible

    assert limit(many[:3], many) < limit(many[:3], many[:3]) < limit(many[:1], many[:1])


def test_only_comparable_runs_count_as_history():
    other_environment = makers.run([makers.result(0.5)], 4, environments={"cpu": makers.environment("2.15.0")})
    partial = makers.run([makers.result(0.5)], 5, complete=False)
    other_machine = makers.run([makers.result(0.5)], 6, machine=makers.machine("Slow CPU"))
    other_hash = makers.run([makers.result(0.5, spec_changes={"hash": "f" * 16})], 7)
    failed = makers.run([makers.failed()], 8)
    other_kernel = makers.run([makers.result(0.5, facts=makers.facts(kernel="xla"))], 9)
    unsteady = makers.run([makers.result(0.5, steady=False)], 10)
    interrupted = makers.run([makers.result(0.5)], 11, interrupted=True)
    left_out = [
        other_environment, partial, other_machine, other_hash, failed, other_kernel, unsteady, interrupted,
    ]  # fmt: skip
    judgement = judge([makers.result(0.01)], BASELINE, [*QUIET, *left_out]).judgements[makers.key()]
    assert judgement.history_runs == 3
    assert judgement.verdict is Verdict.UNCHANGED


def test_promoted_runs_count_without_the_history_and_only_once_with_it():
    for history in ([], QUIET):
        assert judge([makers.result(0.01)], BASELINE, history).judgements[makers.key()].history_runs == 3
    assert judge([makers.result(0.01)], BASELINE, runs_of([[0.0]] * 30, first=4)).judgements[
        makers.key()
    ].history_runs == 20  # fmt: skip


EXACT = [
    (makers.failed(message="killed by signal 9"), Verdict.FAILED, "killed by signal 9"),
    (makers.failed(message=f"{makers.key()} must run"), Verdict.FAILED, f"{makers.key()}: failed (worker): must run"),
    (makers.result(0.01, spec_changes={"hash": "f" * 16}), Verdict.CASE_CHANGED, "definition"),
    (makers.result(0.001, facts=makers.facts(kernel="xla")), Verdict.KERNEL_CHANGED, "ran loop on cpu, this run xla"),
    (makers.result(0.01, facts=makers.facts(device="gpu")), Verdict.KERNEL_CHANGED, "loop on gpu"),
    (makers.result(0.01, facts=makers.facts(probe=(0.5, -0.26))), Verdict.NUMBERS_CHANGED, "-0.25 then and -0.26 now"),
    (makers.result(0.01, facts=makers.facts(probe=(0.5, float("nan")))), Verdict.NUMBERS_CHANGED, "nan"),
    (makers.result(0.01, facts=makers.facts(probe=(0.5,))), Verdict.NUMBERS_CHANGED, "dimensions"),
    (makers.result(9.0, steady=False), Verdict.UNSTEADY, "steady"),
    (makers.result(0.01, 99), Verdict.NO_BASELINE, "does not hold it"),
]


@pytest.mark.parametrize(("result", "verdict", "part"), EXACT, ids=[str(e[1]) + str(i) for i, e in enumerate(EXACT)])
def test_facts_come_before_times(result, verdict, part):
    others = [makers.result(0.01, number) for number in range(1, 24)]
    comparison = judge([result, *others], BASELINE, QUIET)
    judgement = comparison.judgements[result.spec.key]
    assert judgement.verdict is verdict
    assert part in judgement.reason
    assert result.spec.key in judgement.reason
    assert judgement.change is None
    assert verdicts(comparison).count("unchanged") == 23


def test_numbers_within_tolerance_and_settings_do_not_fail():
    facts = makers.facts(probe=(0.500004, -0.25), resolved={"jit_compile": "True"}, first_call_traces=2)
    judgement = judge([makers.result(0.01, facts=facts)], BASELINE, QUIET).judgements[makers.key()]
    assert judgement.verdict is Verdict.UNCHANGED
    assert judgement.informs == ("jit_compile: False -> True", "traces in the first call: 1 -> 2")


def test_missing_and_new():
    results = [makers.result(0.01, number) for number in (*range(20), 30)]
    comparison = judge(results, BASELINE, QUIET, excused={makers.key(20), makers.key(21)})
    assert comparison.missing == (makers.key(22), makers.key(23))
    assert comparison.new == (makers.key(30),)


def test_a_case_without_any_measurement_is_missing_and_not_judged():
    comparison = judge([makers.result([], 0), makers.result(0.01, 1)], BASELINE, QUIET)
    assert makers.key(0) in comparison.missing
    assert makers.key(0) not in comparison.judgements


def test_the_effect_of_the_whole_run():
    slow = judge([makers.result(0.0107, number) for number in range(24)], BASELINE, QUIET)
    assert slow.run_effect is not None
    assert slow.run_effect.ratio == pytest.approx(1.07, abs=0.001)
    assert judge([makers.result(0.01)], BASELINE, QUIET).run_effect is None


def test_versions_of_the_other_side_do_not_keep_from_comparing():
    newer = {"cpu": makers.environment("2.99.0", TF_ENABLE_ONEDNN_OPTS="0")}
    assert verdicts(judge([makers.result(0.01)], BASELINE, QUIET, now=newer)) == ["unchanged"]


@pytest.mark.parametrize("promoted", [1, 3])
@pytest.mark.parametrize(("cases", "drifting"), [(1, 1), (3, 3), (24, 24), (24, 1)])
@pytest.mark.parametrize("noise", [0.0, 0.003])
def test_ten_runs_each_four_percent_slower_are_red_by_the_third(promoted, cases, drifting, noise):
    random = np.random.default_rng(11)
    stored = runs_of(random.normal(scale=noise, size=(promoted, cases)) if noise else np.zeros((promoted, cases)))
    baseline = makers.baseline_of(*stored)
    red_at = []
    for step in range(1, 11):
        level = np.where(np.arange(cases) < drifting, step * math.log(1.04), 0.0)
        (now,) = runs_of([level + random.normal(scale=noise, size=cases)], first=promoted + step)
        judgements = judge(list(now.cases.values()), baseline, stored).judgements
        if any(judgement.verdict.is_red for judgement in judgements.values()):
            red_at.append(step)
        stored.append(now)  # every run is saved, red or not
    assert red_at[0] <= 3
    assert red_at[-1] == 10
    assert not any(judgements[makers.key(number)].verdict.is_red for number in range(drifting, cases))
