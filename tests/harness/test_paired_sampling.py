"""The rounds of one case in a pair of processes, against two scripted workers without a process."""

import dataclasses
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from perf.harness import rounds
from perf.harness.paired_records import BASELINE, CANDIDATE, SIDES, PairSample, SideName
from perf.harness.paired_sampling import NotComparable, SideError, sample_pair
from perf.harness.records import CaseSpec
from perf.harness.replies import CaseError

SPEC = CaseSpec(
    key="forward[lstm-b1]", id="lstm-b1", path="forward", workload="lstm", batch=1, device="cpu", kernel="loop",
    precision="float32", hash="0", steps_per_call=2, keeps_calls=False, expects_kernel="loop", payload={"key": "x"},
)  # fmt: skip


class Two:
    """Two workers that answer ``open`` and ``run``; ``per_call`` gives seconds of a call from the side's rounds so far.

    ``facts`` and ``refuses`` change the answer to ``open`` of a side; ``log`` has every request in its order.
    """

    def __init__(self, **per_call: Callable[[int], float]) -> None:
        self.per_call = per_call
        self.rounds = dict.fromkeys(SIDES, 0)
        self.facts: dict[SideName, dict[str, Any]] = {side: {} for side in SIDES}
        self.refuses: dict[SideName, CaseError] = {}
        self.traces: dict[SideName, int] = dict.fromkeys(SIDES, 0)
        self.log: list[tuple[SideName, str, int, int]] = []

    def ask(self, side: SideName) -> Callable[..., dict[str, Any]]:
        def answer(op: str, **fields: Any) -> dict[str, Any]:
            self.log.append((side, op, fields.get("rounds", 0), fields.get("calls", 0)))
            if op == "open":
                if side in self.refuses:
                    raise self.refuses[side]
                facts = {
                    "kernel": "loop", "device": "cpu", "resolved": {}, "first_call_traces": 1, "output_error": None,
                    "gradient_error": None, "tolerance": 1e-5, "probe": [1.0], **self.facts[side],
                }  # fmt: skip
                return {"first_call_seconds": 0.5, "bytes_peak": 7, "facts": facts}
            seconds = [self.per_call[side](self.rounds[side]) * fields["calls"] for _ in range(fields["rounds"])]
            self.rounds[side] += fields["rounds"]
            return {"seconds": seconds, "call_seconds": [], "traces": self.traces[side]}

        return answer

    def take(self, first: SideName = BASELINE, before: PairSample | None = None, spec: CaseSpec = SPEC) -> PairSample:
        asks = {side: self.ask(side) for side in SIDES}
        return sample_pair(asks, spec, 1, first, before=before, margin=0.05, time_limit=120.0)

    def runs(self) -> list[tuple[SideName, int, int]]:
        return [(side, count, calls) for side, op, count, calls in self.log if op == "run"]


def two(baseline: float = 0.003, candidate: float = 0.003) -> Two:
    return Two(baseline=lambda n: baseline, candidate=lambda n: candidate)


def test_both_sides_have_aligned_rounds_of_as_many_calls():
    found = two(0.003, 0.0033).take()
    assert found.baseline.calls_per_round == found.candidate.calls_per_round
    assert len(found.baseline.seconds_per_round) == len(found.candidate.seconds_per_round) == 10
    assert found.log_ratio == pytest.approx(math.log(1.1))
    assert found.candidate.seconds_per_step == pytest.approx(0.00165)
    assert found.steady
    assert (found.pair, found.first, found.baseline.process) == (1, BASELINE, 1)


@pytest.mark.parametrize(("first", "second"), [(BASELINE, CANDIDATE), (CANDIDATE, BASELINE)])
def test_rounds_go_first_second_second_first_one_request_each(first, second):
    workers = two()
    found = workers.take(first)
    assert [entry[:2] for entry in workers.log[:2]] == [(first, "open"), (second, "open")]
    assert {count for _, count, _ in workers.runs()} == {1}
    timed = [side for side, _, _ in workers.runs()][-2 * len(found.baseline.seconds_per_round) :]
    assert timed == [first, second, second, first] * 5
    assert found.first == first


def test_each_round_ran_beside_its_counterpart():
    workers = two()
    workers.take()
    sides = [side for side, _, _ in workers.runs()]
    assert all({sides[i], sides[i + 1]} == set(SIDES) for i in range(0, len(sides), 2))


def test_the_slower_side_sizes_the_round():
    workers = two(0.003, 0.03)
    found = workers.take()
    assert found.baseline.calls_per_round == found.candidate.calls_per_round == 1
    assert two(0.03, 0.003).take().candidate.calls_per_round == 1
    assert two(0.003, 0.006).take().candidate.calls_per_round * 0.006 >= rounds.ROUND_SECONDS


def test_noise_that_both_share_costs_no_rounds_and_noise_of_their_ratio_does():
    draw = random.Random(1)
    shared = [math.exp(draw.gauss(0, 0.15)) for _ in range(500)]
    alike = Two(baseline=lambda n: 0.03 * shared[n], candidate=lambda n: 0.03 * shared[n]).take()
    assert len(alike.baseline.seconds_per_round) == rounds.MIN_ROUNDS
    assert alike.log_ratio == pytest.approx(0)
    apart = Two(baseline=lambda n: 0.03 * shared[n], candidate=lambda n: 0.03 * shared[n + 200]).take()
    assert len(apart.baseline.seconds_per_round) > 2 * rounds.MIN_ROUNDS


def test_timing_ends_when_the_slower_side_has_had_its_seconds():
    draw = random.Random(2)
    noisy = [0.1 * math.exp(draw.gauss(0, 0.4)) for _ in range(500)]
    found = Two(baseline=lambda n: 0.02, candidate=lambda n: noisy[n]).take()
    spent = sum(found.candidate.seconds_per_round)
    assert rounds.TIMED_SECONDS <= spent < 1.6 * rounds.TIMED_SECONDS


def test_slow_rounds_are_few():
    found = two(4.0, 4.0).take()
    assert len(found.candidate.seconds_per_round) == rounds.MIN_SLOW_ROUNDS


def test_both_sides_must_settle_before_anything_counts():
    found = Two(baseline=lambda n: 0.03, candidate=lambda n: 0.03 * (1 + max(0, 30 - n) / 10)).take()
    assert found.steady
    assert found.baseline.rounds_discarded == found.candidate.rounds_discarded >= 25
    assert found.log_ratio == pytest.approx(0, abs=0.06)


def test_a_side_that_never_settles_is_named():
    found = Two(baseline=lambda n: 0.02, candidate=lambda n: 0.02 * 1.02**n).take()
    assert (found.baseline.steady, found.candidate.steady, found.steady) == (True, False, False)


def test_a_side_that_was_steady_once_need_not_be_so_again_when_the_other_is():
    restless = Two(
        baseline=lambda n: 0.03 * (1.5 if n >= 14 and n // 5 % 2 else 1),
        candidate=lambda n: 0.03 * (1 + max(0, 30 - n) / 10),
    )
    found = restless.take()
    assert (found.baseline.steady, found.candidate.steady) == (True, True)
    assert found.baseline.rounds_discarded >= 25


def test_waiting_ends_when_the_slower_side_has_had_its_seconds():
    found = Two(baseline=lambda n: 0.02, candidate=lambda n: 0.15 * 1.02**n).take()
    assert not found.candidate.steady
    assert found.candidate.rounds_discarded == 20


def test_later_pairs_take_the_calls_of_the_first():
    first = two(0.003).take()
    workers = two(0.001, 0.001)
    second = workers.take(CANDIDATE, before=first)
    assert second.baseline.calls_per_round == first.baseline.calls_per_round
    assert len({calls for _, _, calls in workers.runs()}) == 1


def test_what_differs_between_the_sides_is_left_to_the_judge():
    workers = two()
    workers.facts[CANDIDATE] = {"kernel": "cudnn", "probe": [2.0]}
    found = workers.take(spec=dataclasses.replace(SPEC, expects_kernel=None))
    assert (found.baseline.facts.kernel, found.candidate.facts.kernel) == ("loop", "cudnn")
    assert found.candidate.facts.probe == (2.0,)


@pytest.mark.parametrize("side", SIDES)
def test_a_side_that_is_not_the_same_as_before_failed(side):
    first = two().take()
    workers = two()
    workers.facts[side] = {"probe": [2.0]}
    with pytest.raises(SideError) as caught:
        workers.take(before=first)
    assert (caught.value.side, caught.value.failure.stage) == (side, "oracle")


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("first", SIDES)
def test_what_a_side_says_it_cannot_do_is_not_comparable(side, first):
    workers = two()
    workers.refuses[side] = CaseError("open", "Keras 2.15 has no use_cudnn.")
    with pytest.raises(NotComparable, match=f"on the {side}'s side: Keras 2.15 has no use_cudnn"):
        workers.take(first)
    assert workers.runs() == []


def test_an_exception_on_opening_is_the_candidates_failure_and_excuses_a_baseline():
    broken = CaseError("open", "open raised TypeError", raised=True)
    workers = two()
    workers.refuses[CANDIDATE] = broken
    with pytest.raises(SideError, match="TypeError") as caught:
        workers.take()
    assert caught.value.side == CANDIDATE
    workers = two()
    workers.refuses[BASELINE] = broken
    with pytest.raises(NotComparable, match="TypeError"):
        workers.take()


@pytest.mark.parametrize("side", SIDES)
def test_wrong_numbers_are_a_failure_of_either_side(side):
    workers = two()
    workers.refuses[side] = CaseError("oracle", "the outputs are 0.3 apart")
    with pytest.raises(SideError) as caught:
        workers.take()
    assert (caught.value.side, caught.value.failure.stage) == (side, "oracle")


def test_what_neither_can_do_is_broken():
    workers = two()
    workers.refuses = {side: CaseError("open", "no such builder") for side in SIDES}
    with pytest.raises(SideError, match="no such builder") as caught:
        workers.take()
    assert caught.value.side is None


def test_another_kernel_than_the_cases_name_fails_the_candidate_only():
    workers = two()
    workers.facts[CANDIDATE] = {"kernel": "xla"}
    with pytest.raises(SideError, match="'xla' ran") as caught:
        workers.take()
    assert (caught.value.side, caught.value.failure.stage, workers.runs()) == (CANDIDATE, "proof", [])
    workers = two()
    workers.facts[BASELINE] = {"kernel": "xla"}
    with pytest.raises(NotComparable, match="'xla' ran"):
        workers.take()


@pytest.mark.parametrize("side", SIDES)
def test_a_worker_lost_on_opening_is_a_failure_of_its_side(side):
    workers = two()
    workers.refuses[side] = CaseError("open", "was killed", lost=True)
    with pytest.raises(SideError) as caught:
        workers.take()
    assert caught.value.side == side


@pytest.mark.parametrize("side", SIDES)
def test_new_traces_in_timed_rounds_fail_their_side(side):
    workers = two()
    workers.traces[side] = 1
    with pytest.raises(SideError, match="traced the function anew") as caught:
        workers.take()
    assert caught.value.side == side


@pytest.mark.parametrize("side", SIDES)
def test_a_time_that_is_none_fails_its_side(side):
    workers = two()
    workers.per_call[side] = lambda n: float("nan") if n > 12 else 0.03
    with pytest.raises(SideError, match="finite number above 0") as caught:
        workers.take()
    assert caught.value.side == side
