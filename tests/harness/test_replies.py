import math
from typing import Any

import pytest

from perf.harness import replies
from perf.harness.records import CaseSpec, Facts
from perf.harness.replies import CaseError

FACTS = {
    "kernel": "loop",
    "device": "cpu",
    "resolved": {"jit_compile": "False"},
    "first_call_traces": 1,
    "output_error": 1e-7,
    "gradient_error": None,
    "tolerance": 1e-5,
    "probe": [1.0, -0.5],
}
OPENED = {"first_call_seconds": 0.5, "bytes_peak": None, "facts": FACTS}
SPEC = CaseSpec(
    key="forward[lstm-b1]", id="lstm-b1", path="forward", workload="lstm", batch=1, device="cpu", kernel="auto",
    precision="float32", hash="0", steps_per_call=1, keeps_calls=False, expects_kernel="loop", payload={},
)  # fmt: skip


def facts(**changes: Any) -> Facts:
    return replies.opened({**OPENED, "facts": {**FACTS, **changes}}).facts


def stage_of(call) -> str:
    with pytest.raises(CaseError) as caught:
        call()
    return caught.value.failure.stage


def test_a_good_reply_becomes_a_record():
    opened = replies.opened(OPENED)
    assert (opened.first_call_seconds, opened.bytes_peak) == (0.5, None)
    assert opened.facts == Facts("loop", "cpu", {"jit_compile": "False"}, 1, 1e-7, None, 1e-5, (1.0, -0.5))


@pytest.mark.parametrize("seconds", [math.nan, math.inf, 0, 0.0, -1.0, "1", None, True])
def test_a_first_call_that_took_no_time_is_refused(seconds):
    assert stage_of(lambda: replies.opened({**OPENED, "first_call_seconds": seconds})) == "worker"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", None),
        ("device", 3),
        ("resolved", {"jit_compile": False}),
        ("first_call_traces", -1),
        ("first_call_traces", None),
        ("tolerance", 0.0),
    ],
)
def test_a_wrong_fact_is_named(name, value):
    with pytest.raises(CaseError, match=f"'{name}' must be") as caught:
        facts(**{name: value})
    assert caught.value.failure.stage == "worker"


def test_facts_and_memory_must_be_there():
    assert stage_of(lambda: replies.opened({**OPENED, "facts": None})) == "worker"
    assert stage_of(lambda: replies.opened({**OPENED, "bytes_peak": -5})) == "worker"


@pytest.mark.parametrize("change", [{"probe": [1.0, math.nan]}, {"probe": None}, {"output_error": math.inf}])
def test_numbers_that_are_none_are_the_oracles(change):
    assert stage_of(lambda: facts(**change)) == "oracle"


def test_seven_digits_of_a_time_are_kept_as_it_arrives():
    assert replies.opened({**OPENED, "first_call_seconds": 1.23456789}).first_call_seconds == 1.234568
    found = replies.timed({"seconds": [0.0123456789], "call_seconds": [0.0123456789], "traces": 0}, 1, 1, True)
    assert (found.seconds, found.call_seconds) == ((0.01234568,), (0.01234568,))


def test_times_of_rounds_and_calls():
    reply = {"seconds": [0.2, 0.3], "call_seconds": [0.1] * 4, "traces": 0}
    assert replies.timed(reply, 2, 2, True) == replies.Timed((0.2, 0.3), (0.1,) * 4, 0)


@pytest.mark.parametrize(
    "change",
    [
        {"seconds": [0.2]},
        {"seconds": None},
        {"seconds": [0.2, math.nan]},
        {"seconds": [0.2, math.inf]},
        {"seconds": [0.2, 0.0]},
        {"seconds": [0.2, -0.1]},
        {"call_seconds": [0.1]},
        {"traces": None},
    ],
)
def test_times_that_are_none_are_refused(change):
    reply = {"seconds": [0.2, 0.3], "call_seconds": [], "traces": 0, **change}
    assert stage_of(lambda: replies.timed(reply, 2, 1, False)) == "worker"


def test_the_kernel_and_device_asked_for_pass():
    replies.check_proof(SPEC, facts())


def test_another_kernel_is_named_with_the_one_asked_for():
    with pytest.raises(CaseError, match=r"'loop', but 'cudnn' ran") as caught:
        replies.check_proof(SPEC, facts(kernel="cudnn"))
    assert caught.value.failure.stage == "proof"


def test_any_kernel_will_do_where_the_framework_chooses():
    free = CaseSpec(**{name: getattr(SPEC, name) for name in CaseSpec.__slots__} | {"expects_kernel": None})
    replies.check_proof(free, facts(kernel="cudnn"))


def test_another_device_is_named_with_the_one_asked_for():
    with pytest.raises(CaseError, match=r"'cpu', but 'gpu' executed") as caught:
        replies.check_proof(SPEC, facts(device="gpu"))
    assert caught.value.failure.stage == "proof"


def test_numbers_within_the_tolerance_of_the_largest_are_the_same():
    replies.check_same(SPEC, facts(), facts(probe=[1.0 + 0.9e-5, -0.5 - 0.9e-5]), 2)
    replies.check_same(SPEC, facts(probe=[]), facts(probe=[]), 2)


@pytest.mark.parametrize("probe", [[1.0, -0.49998], [1.0], [1.0, -0.5, 0.0]])
def test_other_numbers_in_another_process_are_the_oracles(probe):
    assert stage_of(lambda: replies.check_same(SPEC, facts(), facts(probe=probe), 2)) == "oracle"


def test_numbers_apart_from_zero_are_not_divided_by_it():
    assert stage_of(lambda: replies.check_same(SPEC, facts(probe=[0.0]), facts(probe=[0.1]), 2)) == "oracle"


def test_two_kernels_in_one_session_are_no_result():
    assert stage_of(lambda: replies.check_same(SPEC, facts(), facts(kernel="xla"), 2)) == "proof"
