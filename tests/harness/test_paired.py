"""The paired measuring stage with real worker processes and fake engines."""

from __future__ import annotations

import json
import math
import os
import signal
import threading
from collections import Counter
from pathlib import Path

import pytest

from perf.harness.entry import Entry
from perf.harness.journal import Journal
from perf.harness.measure import LOST_IN_A_ROW
from perf.harness.paired_codec import decode_pair
from perf.harness.paired_records import BASELINE, CANDIDATE, SIDES
from perf.harness.records import Machine
from tests.harness.paired_stage import TwoSides
from tests.harness.test_measure import folders, gpu, spec

__all__ = ["folders"]  # whatever happens, workers leave no file


@pytest.fixture
def sides(tmp_path) -> TwoSides:
    return TwoSides(tmp_path)


def test_every_case_is_measured_on_both_sides_in_every_pair(sides):
    found = sides.measure([spec("a"), spec("b")], 4, sides={CANDIDATE: {"cases": {"b": {"seconds_per_step": 0.0044}}}})
    assert [pair.pair for pair in found.results["a"].pairs] == [1, 2, 3, 4]
    assert all(pair.log_ratio == pytest.approx(0) for pair in found.results["a"].pairs)
    assert all(pair.log_ratio == pytest.approx(math.log(1.1)) for pair in found.results["b"].pairs)
    assert all(result.failure is None and result.not_comparable is None for result in found.results.values())
    assert set(found.environments) == set(found.startup_seconds) == {(side, "cpu") for side in SIDES}
    assert [len(seconds) for seconds in found.startup_seconds.values()] == [4, 4]
    assert (found.unfinished, found.seed) == ((), 1)


def test_two_workers_are_alive_and_each_side_starts_first_in_half_of_the_pairs(sides):
    found = sides.measure([spec("a"), gpu("g")], 6)
    pids = [entry[0] for entry in sides.log()]
    # A pair's two processes end before the next pair's start: from its first line to its last no other pair speaks.
    spans = [(pids.index(pid), len(pids) - pids[::-1].index(pid)) for pid in dict.fromkeys(pids)]
    assert all(sum(begin <= moment < end for begin, end in spans) <= 2 for moment in range(len(pids)))
    firsts = [pair.first for pair in found.results["a"].pairs]
    assert Counter(firsts) == {BASELINE: 3, CANDIDATE: 3}
    assert all(set(firsts[i : i + 2]) == set(SIDES) for i in (0, 2, 4))  # also after two pairs, and four
    # Two devices, so four processes in each pair, and the side that begins opens first for both.
    opens = [entry[-1] for entry in sides.log() if entry[1] == "open"]
    assert opens[::2] == [side for first in firsts for side in (first, first)]
    assert Counter(sides.starts()) == {BASELINE: 12, CANDIDATE: 12}


def test_the_sides_take_turns_in_the_order_abba_or_baab(sides):
    found = sides.measure([spec("a")], 2)
    for pair in found.results["a"].pairs:
        first, second = (BASELINE, CANDIDATE) if pair.first == BASELINE else (CANDIDATE, BASELINE)
        entries = [entry for entry in sides.log() if len(entry) == 4]
        opens = [index for index, entry in enumerate(entries) if entry[1] == "open"]
        begin = opens[2 * (pair.pair - 1)]
        end = opens[2 * pair.pair] if 2 * pair.pair < len(opens) else len(entries)
        asked = [(entry[1], entry[3]) for entry in entries[begin:end]]
        assert asked[:2] == [("open", first), ("open", second)]
        turns = [side for op, side in asked if op == "run"]
        timed = 2 * len(pair.baseline.seconds_per_round)
        assert turns[-timed:] == [first, second, second, first] * (timed // 4)
        assert sorted(side for op, side in asked if op == "close") == list(SIDES)


def test_the_order_of_cases_is_drawn_for_each_pair(sides):
    keys = [f"case{number}" for number in range(6)]
    sides.measure([spec(key) for key in keys], 3)
    orders = [tuple(key for key, pair in sides.told.cases if pair == one) for one in (1, 2, 3)]
    assert all(sorted(order) == keys for order in orders)
    assert len(set(orders)) == 3


def test_a_later_part_counts_on_and_some_cases_have_more_pairs(sides):
    found = sides.measure([spec("a"), spec("b")], {"a": 2, "b": 3}, first_pair=7)
    assert [pair.pair for pair in found.results["a"].pairs] == [7, 8]
    assert [pair.pair for pair in found.results["b"].pairs] == [7, 8, 9]
    assert sides.told.counts == [(done, 5) for done in range(5)]


def test_facts_that_differ_between_the_sides_are_kept_for_the_judge(sides):
    found = sides.measure(
        [spec("a", expects_kernel=None)],
        sides={CANDIDATE: {"default": {"kernel": "cudnn", "probe": [2.0, 1.0]}}},
    ).results["a"]
    assert found.failure is None
    assert {pair.candidate.facts.kernel for pair in found.pairs} == {"cudnn"}
    assert {pair.baseline.facts.probe for pair in found.pairs} == {(1.0, -0.5)}


def test_the_environments_of_both_sides_are_known(sides):
    sides.variables[CANDIDATE] = {"LSTM_PERF_SLOWDOWN": "1.5"}
    found = sides.measure([spec("a")], sides={BASELINE: {"environment": {"versions": {"tensorflow": "2.15.1"}}}})
    versions = [found.environments[side, "cpu"].versions["tensorflow"] for side in SIDES]
    assert versions == ["2.15.1", "2.21.0"]
    assert found.results["a"].pairs[0].log_ratio == pytest.approx(math.log(1.5))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("fault", ["crash", "kill", "segfault", "nonsense", "hang"])
def test_a_lost_worker_fails_its_case_names_its_side_and_is_replaced_alone(sides, side, fault):
    if fault == "hang":
        sides.settings["time_limit"] = 1.5
    specs = [spec("a"), spec("bad"), spec("c"), spec("d")]
    found = sides.measure(specs, 2, sides={side: {"cases": {"bad": {"fault": fault}}}})
    bad = found.results["bad"]
    assert bad.failure is not None
    assert (bad.failure.stage, bad.failed_side) == ("time limit" if fault == "hang" else "worker", side)
    assert all(len(found.results[key].pairs) == 2 and found.results[key].failure is None for key in "acd")
    starts = Counter(sides.starts())
    assert starts[SIDES[1 - SIDES.index(side)]] == 2
    assert starts[side] in (2, 3)  # none more where the bad case came last in its process
    assert sides.told.failures == {"bad": bad.failure}
    assert [pair for key, pair in sides.told.cases if key == "bad"] == [1]


def test_the_side_that_lives_closes_the_case(sides):
    sides.measure([spec("bad")], 1, sides={CANDIDATE: {"default": {"fault": "kill"}}})
    closed = [entry[-1] for entry in sides.log() if entry[1] == "close"]
    assert closed == [BASELINE]


@pytest.mark.parametrize("fault", ["exception", "problem"])
@pytest.mark.parametrize("side", SIDES)
def test_a_case_that_fails_costs_no_worker(sides, side, fault):
    found = sides.measure([spec("a"), spec("bad")], 2, sides={side: {"cases": {"bad": {"fault": fault}}}})
    assert found.results["bad"].failed_side == side
    assert len(found.results["a"].pairs) == 2
    assert len(sides.starts()) == 4


def test_a_case_lost_in_a_later_pair_keeps_its_pairs_and_fails(sides):
    found = sides.measure([spec("a")], 3, sides={CANDIDATE: {"default": {"fault": "kill", "process": 2}}})
    assert [pair.pair for pair in found.results["a"].pairs] == [1]
    assert (found.results["a"].failed_side, found.unfinished) == (CANDIDATE, ())


def test_a_crash_on_closing_fails_the_case_of_its_side(sides):
    script = {CANDIDATE: {"cases": {"a": {"fault": "crash", "fault_at": "close"}}}}
    found = sides.measure([spec("a"), spec("b")], 1, sides=script)
    assert (found.results["a"].failed_side, found.results["b"].failure) == (CANDIDATE, None)


@pytest.mark.parametrize("side", SIDES)
def test_what_a_side_cannot_do_is_not_comparable_and_the_rest_goes_on(sides, side, tmp_path):
    sides.journal = Journal.start(tmp_path / "journal.jsonl", Machine({}, {}, "m"))
    script = {side: {"cases": {"b": {"fault": "unsupported", "fault_at": "open"}}}}
    found = sides.measure([spec("a"), spec("b")], 2, sides=script)
    sides.journal.close()
    assert found.results["b"].failure is None
    assert found.results["b"].not_comparable == f"on the {side}'s side: Keras 2.15 has no use_cudnn."
    assert (found.results["b"].pairs, len(found.results["a"].pairs), found.unfinished) == ((), 2, ())
    assert [pair for key, pair in sides.told.cases if key == "b"] == [1]
    entries = [json.loads(line) for line in sides.journal.path.read_text().splitlines()[1:]]
    assert [entry["case"] for entry in entries if "not_comparable" in entry] == ["b"]


def test_an_exception_on_opening_under_the_candidate_is_its_failure(sides):
    found = sides.measure([spec("a")], 1, sides={CANDIDATE: {"default": {"fault": "exception", "fault_at": "open"}}})
    assert found.results["a"].failed_side == CANDIDATE
    assert "RuntimeError: the fake engine" in str(found.results["a"].failure)


@pytest.mark.parametrize("side", SIDES)
def test_a_side_that_cannot_start_fails_all_cases_and_leaves_no_worker(sides, side):
    found = sides.measure([spec("a"), spec("b")], 2, sides={side: {"startup": "import"}})
    assert all(result.failed_side == side for result in found.results.values())
    assert all("could not import" in str(result.failure) for result in found.results.values())
    assert len(sides.starts()) <= 2


def test_an_interpreter_that_is_not_there_is_named_with_its_side(sides):
    sides.interpreters[BASELINE] = "/no/such/python"
    found = sides.measure([spec("a")], 1)
    assert found.results["a"].failed_side == BASELINE
    assert "/no/such/python" in str(found.results["a"].failure)


def test_a_later_start_that_fails_has_a_second_chance_and_no_third(sides):
    found = sides.measure([spec("a")], 3, sides={CANDIDATE: {"startup": "crash", "startup_process": 2}})
    assert len(found.results["a"].pairs) == 1
    assert found.results["a"].failed_side == CANDIDATE
    assert Counter(sides.starts())[CANDIDATE] == 3


def test_workers_that_are_lost_in_a_row_end_it(sides):
    specs = [spec(f"case{number}") for number in range(8)]
    script = {CANDIDATE: {"default": {"fault": "crash", "fault_at": "open"}}}
    found = sides.measure(specs, 1, sides=script)
    assert Counter(sides.starts()) == {BASELINE: 1, CANDIDATE: LOST_IN_A_ROW}
    assert sum("in a row" in str(result.failure) for result in found.results.values()) == 8 - LOST_IN_A_ROW


def test_the_budget_stops_before_it_is_spent_and_names_what_lacks_pairs(sides):
    readings = iter(range(100_000))  # each look at the clock is a second later
    sides.clock = lambda: float(next(readings))
    sides.settings["budget"] = 60.0
    found = sides.measure([spec("a"), spec("b")], 50)
    assert set(found.unfinished) == {"a", "b"}
    assert all(1 <= len(result.pairs) < 50 for result in found.results.values())
    assert all(result.failure is None for result in found.results.values())
    assert found.seconds <= 62.0


def test_a_case_that_would_end_after_the_budget_is_not_begun(sides):
    readings = iter([0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 45.0, *map(float, range(46, 200))])
    sides.clock = lambda: next(readings)  # the first case takes 40 s
    sides.settings["budget"] = 80.0
    found = sides.measure([spec("a")], 5)
    assert (len(found.results["a"].pairs), found.unfinished) == (1, ("a",))


def test_a_spent_budget_measures_nothing(sides):
    sides.settings["budget"] = 0.0
    found = sides.measure([spec("a")])
    assert (found.unfinished, found.results["a"].pairs, sides.told.workers) == (("a",), (), [])


def test_skipped_cases_and_no_case_start_no_worker(sides):
    found = sides.measure([spec("a", skip="no GPU")])
    assert (found.results, found.environments, sides.told.workers) == ({}, {}, [])


def test_ctrl_c_ends_both_workers_and_the_journal_keeps_the_raw_rounds(sides, tmp_path):
    sides.journal = Journal.start(tmp_path / "journal.jsonl", Machine({}, {}, "m"))
    log = Path(f"{sides.file}.log")

    def interrupt() -> None:
        while (log.read_text() if log.exists() else "").count(f" open hangs {CANDIDATE}") < 2:
            os.sched_yield()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    hangs = {"cases": {"hangs": {"fault": "hang", "fault_at": "open", "process": 2}}}
    with pytest.raises(KeyboardInterrupt):
        sides.measure([spec("a"), spec("hangs")], 3, sides={CANDIDATE: hangs})
    thread.join()
    sides.journal.close()
    assert Counter(sides.starts()) == {BASELINE: 2, CANDIDATE: 2}
    entries = [json.loads(line) for line in sides.journal.path.read_text().splitlines()[1:]]
    assert {entry["case"] for entry in entries} == {"a", "hangs"}
    pairs = [decode_pair(Entry(entry["pair"], sides.journal.path)) for entry in entries]
    assert all(pair.log_ratio == pytest.approx(0) for pair in pairs)
    assert {pair.pair for pair in pairs} <= {1, 2}
