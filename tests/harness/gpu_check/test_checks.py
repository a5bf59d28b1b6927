"""Checks of what no host that is not there can show, on evidence that is made up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from perf.harness.conditions import Conditions
from perf.harness.gpu_check.assumptions import assumptions
from perf.harness.gpu_check.judging import judge
from perf.harness.gpu_check.records import Evidence, Finding, Outcome, Part, Scaled
from perf.harness.gpu_reading import Reading
from perf.harness.gpus import Gpu
from perf.harness.records import Facts, Sample
from perf.harness.replies import Opened
from tests.fake_suite import case

GPU = Gpu(0, "NVIDIA A100", 40 * 2**30, "GPU-0", "570.1")
FORWARD, FIT = case("forward/alpha", "gpu", kernel="cudnn"), case("fit/alpha", "gpu", kernel="cudnn")
OPENED = Opened(0.5, None, Facts("cudnn", "gpu", {}, 1, None, None, 1e-5, (1.0,)))


SAMPLE = Sample(
    1, 1, 1, (0.02, 0.02), 10, True, 0.5, None, 0, OPENED.facts, conditions=Conditions(sm_clock_mhz_lowest=9)
)


def evidence() -> Evidence:
    """On which all of the checks below hold."""
    found = Evidence(GPU, (FORWARD, FIT), 120.0)
    found.busy = Reading(joules=5.0)
    found.other[FORWARD.key] = OPENED
    found.both = Reading(bytes_by_process={1: 2**30, 2: 2**30})
    found.scaled = {FORWARD.key: Scaled(0.02, 0.2, 0.0), FIT.key: Scaled(0.1, 1.0, 0.0)}
    found.samples = {FORWARD.key: SAMPLE}
    found.joules_per_step = 0.5, 0.51
    found.pair_ratios = (1.01, 0.99, 1.0, 1.02)
    found.alone_and_paired = 1e-3, 1.01e-3
    found.reading_seconds = (1e-3, 2e-3, 1e-3)
    return found


def scaled(key: str, **changes: float) -> Callable[[Evidence], None]:
    def change(found: Evidence) -> None:
        found.scaled[key] = replace(found.scaled[key], **changes)

    return change


def made(**changes: object) -> Callable[[Evidence], None]:
    def change(found: Evidence) -> None:
        for name, value in changes.items():
            setattr(found, name, value)

    return change


#: By the assumption: what is otherwise, and what is said of it.
OTHERWISE: dict[str, list[tuple[Callable[[Evidence], None], str]]] = {
    "nvml-lists-gpus": [(made(gpu=replace(GPU, uuid="", driver="")), "does not tell: uuid, driver")],
    "memory-shared-by-two": [
        (made(both=Reading(bytes_by_process={1: 2**30, 2: 39 * 2**30})), "the largest 39.0 GiB"),
        (made(both=Reading(bytes_by_process={1: 2**30})), "1 processes hold memory"),
    ],
    "synchronise-waits": [
        (scaled(FORWARD.key, many=0.05), "10 times the calls took 2.5 times as long"),
        (scaled(FORWARD.key, kept_waiting=0.1), "the next call waited 0.1 s"),
    ],
    "rounds-steady": [
        (made(samples={FORWARD.key: replace(SAMPLE, steady=False)}), "1 of 1 cases reached no steady state"),
    ],
    "keras-paths-wait": [(scaled(FIT.key, many=0.5), "took 5 times as long")],
    "turns-do-not-slow": [
        (made(pair_ratios=(1.2, 1.21, 1.19)), "one process over the other 1.200"),
        (made(pair_ratios=(0.5, 1.0, 2.0, 1.0)), "rounds spread by 56"),
        (made(alone_and_paired=(1e-3, 1.3e-3)), "in a pair 1.300 of alone"),
    ],
    "energy-counter": [(made(joules_per_step=(0.5, 0.9)), "0.5 J a step over a second, 0.9 J over four")],
    "reading-is-cheap": [(made(reading_seconds=(0.05, 0.06, 0.05)), "50 ms for each of 3 readings")],
}


def finding(id: str, found: Evidence) -> Finding:
    return judge(assumptions(), found)[id]


@pytest.mark.parametrize("id", OTHERWISE)
def test_it_holds_and_where_it_is_otherwise_it_does_not(id: str) -> None:
    assert finding(id, evidence()).outcome is Outcome.HELD
    for change, words in OTHERWISE[id]:
        found = evidence()
        change(found)
        one = finding(id, found)
        assert one.outcome is Outcome.BROKEN
        assert words in one.said


def test_of_no_evidence_nothing_is_said_but_why() -> None:
    nothing = Evidence(GPU, (FORWARD, FIT), 120.0)
    nothing.gone = dict.fromkeys(Part, ("the time limit of 1 s ended before", True))
    found = judge(assumptions(), nothing)
    held = {id for id, one in found.items() if one.outcome is Outcome.HELD}
    assert held == {"nvml-lists-gpus"}  # which was settled before
    assert {one.outcome for one in found.values()} == {Outcome.HELD, Outcome.UNCHECKED}
    assert all(one.said for one in found.values())
    assert found["energy-counter"].missed
    assert not found["mig-counts-the-board"].missed


@pytest.mark.parametrize(
    ("id", "change", "why"),
    [
        ("energy-counter", made(busy=Reading(), joules_per_step=None), "no counter of energy"),
        ("utilisation-by-process", made(), "this driver does not tell it"),
        ("memory-shared-by-two", made(both=Reading(bytes_by_process={1: None, 2: None})), "the memory of a process"),
        ("xla-seen", made(), "there is no case of XLA here"),
        ("masks-and-cudnn", made(), "takes no mask"),
    ],
)
def test_what_this_host_cannot_tell_is_not_checked(id: str, change: Callable[[Evidence], None], why: str) -> None:
    found = evidence()
    change(found)
    one = finding(id, found)
    assert one.outcome is Outcome.UNCHECKED
    assert why in one.said
