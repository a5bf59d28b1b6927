"""What a paired comparison says of scripted differences, and to whom."""

from __future__ import annotations

import dataclasses
import math

import pytest

from perf.harness.paired_evidence import Metric
from perf.harness.paired_exact import MIN_PAIRS
from perf.harness.paired_records import CANDIDATE, PairedResult
from perf.harness.paired_screen import MOST_CONFIRMED, confirmation_plan, screen
from perf.harness.paired_verdict import decide, not_decided
from perf.harness.records import Failure, Verdict
from perf.harness.verdict import Margins
from tests.harness.makers import environment, facts, key, spec
from tests.harness.paired_makers import around, environments, paired

MARGINS = Margins(5.0)


def judged(first: PairedResult, again: PairedResult | None = None, margins: Margins = MARGINS):
    """One case: its judgement, and the metrics it was a candidate in."""
    name = first.spec.key
    screened = screen({name: first}, margins)
    confirmed = {name: again} if again is not None else {}
    metrics = screened.candidates[0].metrics if screened.candidates else ()
    return decide(screened, confirmed, margins, environments())[name], metrics


@pytest.mark.parametrize(
    ("differences", "verdict", "candidate"),
    [
        (around(0.0), Verdict.UNCHANGED, False),
        (around(0.03), Verdict.UNCHANGED, False),  # above half of the margin, and known to be inside
        (around(-0.1), Verdict.IMPROVED, False),
        (around(-0.05, 0.03), Verdict.INCONCLUSIVE, False),
        (around(0.02, 0.08), Verdict.INCONCLUSIVE, False),  # reaches above, but its mean is too low
        (around(0.03, 0.05), Verdict.INCONCLUSIVE, True),
        (around(0.1), Verdict.INCONCLUSIVE, True),  # never red before it is confirmed
        (around(0.7), Verdict.INCONCLUSIVE, True),
    ],
)
def test_the_screen(differences, verdict, candidate):
    judgement, metrics = judged(paired(differences))
    assert judgement.verdict is verdict
    assert metrics == ((Metric.STEP,) if candidate else ())
    assert judgement.metrics[Metric.STEP].change.level == pytest.approx(0.9)


@pytest.mark.parametrize("count", range(MIN_PAIRS))
def test_fewer_than_four_pairs_are_inconclusive_whatever_they_say(count):
    judgement, metrics = judged(paired(around(0.7, count=count)))
    assert (judgement.verdict, metrics) == (Verdict.INCONCLUSIVE, ())
    assert f"{count} pair" in judgement.reason


def test_a_margin_of_its_own_holds_for_a_case():
    margins = Margins(5.0, {key(): 20.0})
    assert judged(paired(around(0.1)), margins=margins)[0].verdict is Verdict.UNCHANGED


def test_a_confirmed_candidate_is_red_with_the_interval_that_decided():
    judgement, _ = judged(paired(around(0.12)), paired(around(0.10, count=10)))
    step = judgement.metrics[Metric.STEP]
    assert judgement.verdict is Verdict.REGRESSED
    assert step.change.ratio == pytest.approx(math.exp(0.10))  # the fresh pairs only
    assert step.change.low > 1.05
    assert step.change.level == pytest.approx(0.9)
    for part in ("1.105", "90 %", "10 pairs", "tensorflow 2.20.0 -> 2.21.0", "margin is 5 %", "lstm_models run", key()):
        assert part in judgement.reason


@pytest.mark.parametrize(
    ("again", "verdict"),
    [
        (around(0.0, count=10), Verdict.UNCHANGED),
        (around(0.05, 0.03, 10), Verdict.INCONCLUSIVE),
        (around(-0.2, count=10), Verdict.IMPROVED),
    ],
)
def test_a_candidate_that_fresh_processes_do_not_bear_out_is_not_red(again, verdict):
    judgement, metrics = judged(paired(around(0.12)), paired(again))
    assert metrics == (Metric.STEP,)
    assert judgement.verdict is verdict


def test_holm_asks_more_where_more_is_confirmed_and_the_interval_has_its_level():
    firsts = {key(n): paired(around(0.1), n) for n in range(5)}
    # A p value near 0.02: enough alone, and not among five of which the others are unchanged.
    again = {key(n): paired(around(0.0, count=10), n) for n in range(1, 5)}
    again[key(0)] = paired(around(0.074, 0.033, 10))
    alone, _ = judged(firsts[key(0)], again[key(0)])
    assert alone.verdict is Verdict.REGRESSED
    together = decide(screen(firsts, MARGINS), again, MARGINS, environments())
    assert together[key(0)].verdict is Verdict.INCONCLUSIVE
    again[key(0)] = paired(around(0.1, count=10))
    red = decide(screen(firsts, MARGINS), again, MARGINS, environments())[key(0)]
    assert red.verdict is Verdict.REGRESSED
    assert red.metrics[Metric.STEP].change.level == pytest.approx(1 - 2 * 0.05 / 5)


def test_the_worst_are_confirmed_and_the_rest_are_named():
    results = {key(n): paired(around(0.1 + n / 100), n) for n in range(MOST_CONFIRMED + 3)}
    screened = screen(results, MARGINS)
    plan = confirmation_plan(screened)
    assert list(plan.pairs) == [key(n) for n in range(MOST_CONFIRMED + 2, 2, -1)]
    assert plan.not_decided == (key(2), key(1), key(0))
    confirmed = {name: paired(around(0.2, count=10), int(name.split("-")[0][9:])) for name in plan.pairs}
    judgements = decide(screened, confirmed, MARGINS, environments())
    assert judgements[key(2)].verdict is Verdict.INCONCLUSIVE
    assert "not decided" in judgements[key(2)].reason
    assert judgements[key(9)].verdict is Verdict.REGRESSED
    assert not_decided(screened, confirmed, MARGINS) == plan.not_decided


@pytest.mark.parametrize("count", [0, 3])
def test_a_confirmation_that_the_budget_cut_short_decides_nothing(count):
    first, again = paired(around(0.2)), paired(around(0.2, count=count))
    judgement, _ = judged(first, again)
    assert judgement.verdict is Verdict.INCONCLUSIVE
    assert "no time" in judgement.reason
    screened = screen({key(): first}, MARGINS)
    assert not_decided(screened, {key(): again}, MARGINS) == (key(),)
    assert not_decided(screened, {key(): paired(around(0.2, count=4))}, MARGINS) == ()


def test_pairs_of_a_confirmation_are_between_ten_and_twenty_and_come_from_the_spread():
    quiet, loud = paired(around(0.2), 0), paired(around(0.2, 0.08), 1)
    assert dict(confirmation_plan(screen({key(0): quiet, key(1): loud}, MARGINS)).pairs) == {key(0): 10, key(1): 20}


def test_more_candidates_need_more_pairs_each():
    one = {key(0): paired(around(0.2, 0.035), 0)}
    eight = {key(n): paired(around(0.2, 0.035), n) for n in range(8)}
    alone, among = (confirmation_plan(screen(results, MARGINS)).pairs[key(0)] for results in (one, eight))
    assert 10 <= alone < among <= 20


def test_a_confirmation_that_was_planned_and_not_measured_counts_in_holms_levels():
    firsts = {key(n): paired(around(0.1), n) for n in range(5)}
    again = {key(0): paired(around(0.074, 0.033, 10))}  # enough alone, see above
    assert decide(screen(firsts, MARGINS), again, MARGINS, environments())[key(0)].verdict is Verdict.INCONCLUSIVE
    again |= {key(n): paired(around(0.5, count=3), n) for n in range(1, 5)}
    assert decide(screen(firsts, MARGINS), again, MARGINS, environments())[key(0)].verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("change", "verdict", "said"),
    [
        ({"facts": facts(kernel="cudnn")}, Verdict.KERNEL_CHANGED, "the baseline ran loop on cpu, the candidate cudnn"),
        ({"facts": facts(device="gpu")}, Verdict.KERNEL_CHANGED, "the candidate loop on gpu"),
        ({"facts": facts(probe=(0.5, -0.2))}, Verdict.NUMBERS_CHANGED, "-0.25 on the baseline's side and -0.2"),
        ({"facts": facts(probe=(0.5,))}, Verdict.NUMBERS_CHANGED, "other dimensions"),
    ],
)
def test_facts_that_differ_are_red_whatever_the_time(change, verdict, said):
    judgement, metrics = judged(paired(around(0.0), candidate=change))
    assert (judgement.verdict, judgement.verdict.is_red, metrics) == (verdict, True, ())
    assert said in judgement.reason
    # The same on both sides is no change.
    assert judged(paired(around(0.0), baseline=change, candidate=change))[0].verdict is Verdict.UNCHANGED


def test_numbers_within_tolerance_are_equal():
    assert judged(paired(candidate={"facts": facts(probe=(0.500001, -0.25))}))[0].verdict is Verdict.UNCHANGED


def test_a_kernel_that_changes_only_in_the_confirmation_is_red():
    again = paired(around(0.2, count=10), candidate={"facts": facts(kernel="xla")})
    assert judged(paired(around(0.2)), again)[0].verdict is Verdict.KERNEL_CHANGED


def test_settings_and_first_traces_inform():
    candidate = {"facts": facts(resolved={"jit_compile": "True"}, first_call_traces=2)}
    judgement, _ = judged(paired(candidate=candidate))
    assert judgement.verdict is Verdict.UNCHANGED
    assert judgement.metrics[Metric.STEP].informs == (
        "jit_compile: False -> True",
        "traces in the first call: 1 -> 2",
    )


def test_a_failure_names_its_side():
    result = PairedResult(spec(), (), Failure("worker", "The worker was killed by SIGKILL."), CANDIDATE)
    judgement, _ = judged(result)
    assert judgement.verdict is Verdict.FAILED
    assert "failed on the candidate's side (worker): The worker was killed" in judgement.reason


def test_a_failure_in_the_confirmation_is_red():
    again = PairedResult(spec(), paired(around(0.2)).pairs, Failure("worker", "was killed"), CANDIDATE)
    assert judged(paired(around(0.2)), again)[0].verdict is Verdict.FAILED


def test_what_one_side_cannot_do_is_not_comparable_and_not_red():
    result = PairedResult(spec(), (), not_comparable="on the baseline's side: Keras 2.15 has no use_cudnn.")
    judgement, _ = judged(result)
    assert (judgement.verdict, judgement.verdict.is_red) == (Verdict.NOT_COMPARABLE, False)
    assert "no use_cudnn" in judgement.reason


def test_without_a_steady_state_the_time_is_not_judged_and_the_rest_is():
    judgement, metrics = judged(paired(around(0.7), baseline={"steady": False}))
    assert (judgement.verdict, metrics) == (Verdict.UNSTEADY, ())
    assert judgement.metrics[Metric.FIRST_CALL].verdict is Verdict.UNCHANGED


def test_a_confirmation_without_a_steady_state_is_unsteady_and_counts_as_decided():
    first, again = paired(around(0.2)), paired(around(0.2, count=10), candidate={"steady": False})
    assert judged(first, again)[0].verdict is Verdict.UNSTEADY
    assert not_decided(screen({key(): first}, MARGINS), {key(): again}, MARGINS) == ()


def test_a_slower_first_call_is_red_when_it_is_confirmed_and_the_step_stays_green():
    slower = {"candidate": {"first_call_seconds": 0.8}}
    judgement, metrics = judged(paired(**slower), paired(around(0.0, count=10), **slower))
    assert metrics == (Metric.FIRST_CALL,)
    assert judgement.metrics[Metric.STEP].verdict is Verdict.UNCHANGED
    assert judgement.verdict is Verdict.REGRESSED
    assert "regressed (first call): 2.0" in judgement.reason
    assert "400 ms on the baseline's side, 800 ms on the candidate's" in judgement.reason


def test_a_first_call_within_its_own_margin_is_no_candidate():
    assert judged(paired(candidate={"first_call_seconds": 0.49}))[1] == ()


@pytest.mark.parametrize(("before", "after", "red"), [(100, 115, True), (100, 108, False), (10, 13, False)])
def test_memory_is_red_beyond_both_its_margins(before, after, red):
    sizes = {"baseline": {"bytes_peak": before * 2**20}, "candidate": {"bytes_peak": after * 2**20}}
    judgement, _ = judged(paired(**sizes), paired(around(0.0, count=10), **sizes))
    assert (judgement.verdict is Verdict.REGRESSED) is red
    assert (f"{before} MiB on the baseline's side, {after} MiB" in judgement.reason) is red


def test_all_red_metrics_are_told():
    slower = {"candidate": {"first_call_seconds": 0.8}}
    judgement, metrics = judged(paired(around(0.2), **slower), paired(around(0.2, count=10), **slower))
    assert metrics == (Metric.STEP, Metric.FIRST_CALL)
    assert "time per step" in judgement.reason
    assert "first call" in judgement.reason


def test_a_case_without_pairs_is_inconclusive():
    judgement, _ = judged(dataclasses.replace(paired(), pairs=()))
    assert judgement.verdict is Verdict.INCONCLUSIVE


def test_a_message_names_the_variables_that_differ():
    sides = environments()
    sides[CANDIDATE, "cpu"] = environment("2.20.0", TF_ENABLE_ONEDNN_OPTS="0")
    screened = screen({key(): paired(around(0.2))}, MARGINS)
    judgement = decide(screened, {key(): paired(around(0.2, count=10))}, MARGINS, sides)[key()]
    assert "tensorflow 2.20.0 (same), keras 3.15.1 (same), TF_ENABLE_ONEDNN_OPTS absent -> 0" in judgement.reason
