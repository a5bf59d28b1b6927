"""Paired results as JSON, and as lines of the journal."""

import copy
import json
from pathlib import Path

import pytest

from perf.harness.entry import Entry
from perf.harness.errors import Refusal
from perf.harness.journal import Journal
from perf.harness.paired_codec import (
    decode_measured,
    decode_pair,
    decode_paired_result,
    encode_measured,
    encode_paired_result,
)
from perf.harness.paired_records import BASELINE, CANDIDATE, PairedMeasured, PairedResult
from perf.harness.records import Failure, Machine
from tests.harness.makers import key, spec
from tests.harness.paired_makers import around, environments, paired

FILE = Path("paired.json")
PLAIN = {"baseline": {"first_call_seconds": 0.25}, "candidate": {"seconds_per_round": (0.0403, 0.0404, 0.0405)}}
RESULTS = [
    paired(around(0.0), **PLAIN),
    PairedResult(spec(), paired((0.0,)).pairs, Failure("worker", "was killed"), CANDIDATE),
    PairedResult(spec(), (), Failure("open", "no builder")),
    PairedResult(spec(), (), not_comparable="on the baseline's side: no use_cudnn"),
]


def through_json(value):
    return Entry(json.loads(json.dumps(value, allow_nan=False)), FILE)


@pytest.mark.parametrize("result", RESULTS)
def test_what_is_written_is_read_again(result):
    read = decode_paired_result(through_json(encode_paired_result(result)))
    assert encode_paired_result(read) == encode_paired_result(result)
    assert [pair.log_ratio for pair in read.pairs] == pytest.approx([pair.log_ratio for pair in result.pairs], abs=1e-6)
    assert (read.failure, read.failed_side, read.not_comparable) == (
        result.failure, result.failed_side, result.not_comparable,
    )  # fmt: skip


def test_a_stage_is_written_and_read_with_both_environments():
    measured = PairedMeasured(
        results={key(): RESULTS[0]},
        environments=environments(),
        startup_seconds={(BASELINE, "cpu"): (3.5, 3.25), (CANDIDATE, "cpu"): (4.5,)},
        unfinished=(key(),),
        seed=3,
        seconds=12.5,
    )
    read = decode_measured(through_json(encode_measured(measured)))
    assert encode_measured(read) == encode_measured(measured)
    assert read.environments == measured.environments
    assert read.startup_seconds == measured.startup_seconds


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("pairs", 0, "first"), "both", "one of baseline, candidate"),
        (("pairs", 0, "pair"), 0, "1 or more"),
        (("pairs", 0, "candidate", "seconds_per_round"), [0.04], "3 rounds, as on the other side"),
        (("pairs", 0, "candidate", "calls_per_round"), 5, "4 steps per round, as on the other side"),
        (("pairs", 0, "baseline", "seconds_per_round"), [0.04, 0.0, 0.04], "above 0"),
        (("failed_side",), "neither", "one of baseline, candidate"),
        (("schema",), 99, "form 99"),
        (("unknown",), 1, "no such entry"),
    ],
)
def test_damage_is_refused_with_its_place(place, value, said):
    plain = copy.deepcopy(encode_paired_result(RESULTS[0]))
    target = plain
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    with pytest.raises(Refusal, match=said) as caught:
        decode_paired_result(Entry(plain, FILE))
    assert "paired.json" in str(caught.value)


def test_a_case_under_another_name_is_refused():
    plain = encode_measured(PairedMeasured({"other": RESULTS[0]}, {}, {}, (), 1, 1.0))
    with pytest.raises(Refusal, match="the case that it stands under"):
        decode_measured(through_json(plain))


def test_journal_lines_hold_the_raw_rounds_of_both_sides(tmp_path):
    journal = Journal.start(tmp_path / "a.jsonl", Machine({}, {}, "m"))
    journal.pair(key(), RESULTS[0].pairs[0])
    journal.failure(key(), Failure("worker", "was killed"), CANDIDATE)
    journal.failure(key(), Failure("open", "no builder"))
    journal.not_comparable(key(), "on the baseline's side: no use_cudnn")
    journal.close()
    lines = [json.loads(line) for line in journal.path.read_text().splitlines()[1:]]
    read = decode_pair(Entry(lines[0]["pair"], journal.path))
    assert read.candidate.seconds_per_round == RESULTS[0].pairs[0].candidate.seconds_per_round
    assert read.baseline.seconds_per_round == RESULTS[0].pairs[0].baseline.seconds_per_round
    assert (lines[1]["side"], "side" in lines[2]) == ("candidate", False)
    assert lines[3] == {"case": key(), "not_comparable": "on the baseline's side: no use_cudnn"}
