"""The summary is short, says what is red and by how much, and shows names as they are."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime

import pytest

from perf.harness.report.page.markdown import summary, text
from perf.harness.report.page.plain import as_plain
from tests.harness import makers
from tests.harness.paired_makers import around, paired
from tests.report.pages import HOSTILE, mixed_results, paired_page, session_page
from tests.report.test_charts import expectation


def test_the_summary_says_what_is_red_by_how_much_and_against_what():
    lines = summary(session_page(mixed_results(), reasons_not_green=("1 case is new.",))).splitlines()
    assert lines[0].endswith("red: Compared with something")
    assert "1 failed, 1 regressed" in lines[2]
    assert "> 1 case is new." in lines
    (row,) = [line for line in lines if "regressed, time per step" in line]
    assert "2.990 (2.942–3.039)" in row
    assert "96.7 %" in row
    assert any("Smallest change that would have been red" in line for line in lines)
    assert any("tensorflow 2.21.0 → 2.22.0" in line for line in lines)
    assert len(lines) < 25


def test_each_red_metric_has_its_row():
    slow = paired(around(0.2), candidate={"first_call_seconds": 0.9})
    again = paired(around(0.2, count=12), candidate={"first_call_seconds": 0.9})
    rows = [line for line in summary(paired_page([slow], [again])).splitlines() if "regressed, " in line]
    assert ["time per step" in row for row in rows] == [True, False]
    assert "first call" in rows[1]


def test_expectations_stand_with_their_state():
    page = dataclasses.replace(session_page([makers.result(0.01)], compared=False), expectations=(expectation(),))
    assert "| xla beats loop below batch 16 | = holds |" in summary(page)


def test_many_red_cases_are_counted():
    page = session_page([makers.failed(number) for number in range(30)], compared=False)
    said = summary(page)
    assert said.count("✕ failed") == 20
    assert "and 10 more" in said


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (HOSTILE, "&lt;script&gt;document.title='owned'&lt;/script&gt;"),
        ("a | b", r"a \| b"),
        ("a\n# b", r"a \# b"),
        ("@team `code` [x](y)", r"@team \`code\` \[x\](y)"),
    ],
)
def test_names_stay_text(name, shown):
    assert text(name) == shown


def test_a_hostile_case_breaks_no_row():
    said = summary(session_page(mixed_results()))
    assert "<script" not in said


def test_the_json_holds_every_round_and_interval():
    page = session_page(mixed_results())
    value = json.loads(json.dumps(as_plain(page), allow_nan=False))
    assert value["schema"] == 1
    assert value["counts"]["regressed"] == 1
    assert datetime.fromisoformat(value["head"]["date"]) == page.head.date
    case = next(case for case in value["cases"] if case["state"]["word"] == "regressed")
    assert case["metrics"][0]["change"]["low"] > 2.5
    assert case["sides"][1]["processes"][0]["seconds_per_step"] == pytest.approx([0.0297, 0.03, 0.0303])
