"""The rounds of one case, against a scripted worker without a process."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from perf.harness import rounds
from perf.harness.records import CaseSpec
from perf.harness.replies import CaseError
from perf.harness.sampling import sample

SPEC = CaseSpec(
    key="forward[lstm-b1]", id="lstm-b1", path="forward", workload="lstm", batch=1, device="cpu", kernel="loop",
    precision="float32", hash="0", steps_per_call=2, keeps_calls=False, expects_kernel="loop", payload={"key": "x"},
)  # fmt: skip


class Scripted:
    """Answers ``open`` and ``run``; ``per_call`` gives the seconds of a call from the number of rounds before it."""

    def __init__(self, per_call: Callable[[int], float], traces: Callable[[int], int] = lambda rounds_before: 0):
        self.per_call = per_call
        self.traces = traces
        self.kernel = "loop"
        self.probe = [1.0]
        self.rounds = 0
        self.requests: list[tuple[str, int, int]] = []

    def __call__(self, op: str, **fields: Any) -> dict[str, Any]:
        if op == "open":
            assert fields == {"case": {"key": "x"}}
            return {
                "first_call_seconds": 0.5,
                "bytes_peak": 7,
                "facts": {
                    "kernel": self.kernel, "device": "cpu", "resolved": {}, "first_call_traces": 1,
                    "output_error": None, "gradient_error": None, "tolerance": 1e-5, "probe": self.probe,
                },
            }  # fmt: skip
        assert op == "run"
        count, calls = fields["rounds"], fields["calls"]
        self.requests.append((op, count, calls))
        traces = self.traces(self.rounds)
        seconds = [self.per_call(self.rounds + number) * calls for number in range(count)]
        self.rounds += count
        return {"seconds": seconds, "call_seconds": [], "traces": traces}


def take(worker: Scripted, spec: CaseSpec = SPEC, process: int = 1, before: Any = None, limit: float = 120.0) -> Any:
    return sample(worker, spec, process, before=before, margin=0.05, time_limit=limit)


def test_a_steady_case():
    found = take(Scripted(lambda n: 0.003))
    assert found.calls_per_round == 8  # 8 x 3 ms, with the reserve for becoming faster
    assert found.seconds_per_round == pytest.approx([0.024] * 10)
    assert found.seconds_per_step == pytest.approx(0.0015)
    assert (found.steady, found.rounds_discarded, found.timed_traces) == (True, 10, 0)
    assert (found.first_call_seconds, found.bytes_peak, found.process) == (0.5, 7, 1)


def test_rounds_are_asked_for_in_windows():
    worker = Scripted(lambda n: 0.003)
    take(worker)
    assert [request[1:] for request in worker.requests] == [(1, 1), (3, 1), (3, 8), (5, 8), (5, 8), (10, 8)]


def test_warming_up_is_discarded_until_two_windows_agree():
    # Falls by 40 % over the first 30 rounds, as lazy compilation and clock governors make it.
    found = take(Scripted(lambda n: 0.03 * (1 + max(0, 30 - n) / 30)))
    assert found.steady
    assert found.rounds_discarded > 20
    assert found.seconds_per_round == pytest.approx([0.03] * 10, rel=0.05)


def test_a_case_that_never_settles_is_unsteady_and_still_timed():
    found = take(Scripted(lambda n: 0.02 * 1.02**n))
    assert not found.steady
    assert found.rounds_discarded <= rounds.MAX_DISCARDED
    assert len(found.seconds_per_round) >= rounds.MIN_ROUNDS


def test_a_first_call_that_was_slow_does_not_make_short_rounds():
    # 50 ms in the first rounds, 1 ms when settled: the number of calls that was chosen first is too small.
    found = take(Scripted(lambda n: 0.001 if n > 3 else 0.05))
    assert found.calls_per_round * 0.001 >= rounds.ROUND_SECONDS


def test_later_processes_take_the_calls_of_the_first():
    first = take(Scripted(lambda n: 0.003))
    worker = Scripted(lambda n: 0.001)
    second = take(worker, process=2, before=first)
    assert second.calls_per_round == first.calls_per_round
    assert {calls for _, _, calls in worker.requests} == {8}
    assert second.process == 2


def test_slow_rounds_are_few():
    worker = Scripted(lambda n: 4.0)
    found = take(worker)
    assert found.calls_per_round == 1
    assert (found.rounds_discarded, len(found.seconds_per_round)) == (6, 5)
    assert worker.rounds == 1 + 6 + 5


def test_a_slow_case_is_not_mistaken_for_a_hang():
    worker = Scripted(lambda n: 100.0)
    take(worker)
    assert {count for _, count, _ in worker.requests} == {1}


def test_a_new_trace_in_timed_rounds_fails_the_case():
    worker = Scripted(lambda n: 0.03, traces=lambda before: int(before >= 14))
    with pytest.raises(CaseError, match="traced the function anew") as caught:
        take(worker)
    assert caught.value.failure.stage == "traces"


def test_traces_while_warming_up_are_none_of_the_timed():
    assert take(Scripted(lambda n: 0.03, traces=lambda before: int(before < 14))).timed_traces == 0


def test_nothing_is_timed_under_the_wrong_kernel():
    worker = Scripted(lambda n: 0.03)
    worker.kernel = "xla"
    with pytest.raises(CaseError) as caught:
        take(worker)
    assert caught.value.failure.stage == "proof"
    assert worker.requests == []


def test_other_numbers_than_in_the_first_process_fail_the_case():
    first = take(Scripted(lambda n: 0.03))
    worker = Scripted(lambda n: 0.03)
    worker.probe = [1.1]
    with pytest.raises(CaseError) as caught:
        take(worker, process=2, before=first)
    assert caught.value.failure.stage == "oracle"
    assert worker.requests == []


def test_a_time_that_is_none_fails_the_case():
    with pytest.raises(CaseError, match="finite number above 0"):
        take(Scripted(lambda n: float("nan") if n > 14 else 0.03))


def test_single_calls_are_kept_where_the_case_wants_them():
    spec = dataclasses.replace(SPEC, keeps_calls=True)
    worker = Scripted(lambda n: 0.01)

    def ask(op: str, **fields: Any) -> dict[str, Any]:
        reply = worker(op, **fields)
        return reply if op == "open" else {**reply, "call_seconds": [0.01] * (fields["rounds"] * fields["calls"])}

    found = sample(ask, spec, 1, before=None, margin=0.05, time_limit=120.0)
    assert found.seconds_per_call == (0.01,) * (found.calls_per_round * len(found.seconds_per_round))
