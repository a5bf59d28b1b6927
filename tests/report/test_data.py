"""What a page holds: the verdicts as they were decided, the numbers that stand behind them, and both sides."""

from __future__ import annotations

import dataclasses

import pytest

from perf.harness.records import Verdict
from perf.harness.report.page import sections, versions
from perf.harness.report.page.case_data import Tone
from perf.harness.report.page.data import Status
from perf.harness.report.page.history_page import from_run
from perf.harness.report.page.states import of_verdict
from tests.harness import makers
from tests.harness.paired_makers import around, paired
from tests.report.pages import RUNS, history, mixed_results, outcome, paired_page, session_page


def by_key(page):
    return {case.key: case for case in page.cases}


def test_a_session_shows_each_verdict_with_its_interval_and_both_sides():
    page = session_page(mixed_results())
    case = by_key(page)[makers.key(0)]
    assert page.status is Status.RED
    assert case.state.word == "regressed"
    assert case.step.change.low > 2.5
    assert [side.name for side in case.sides] == ["baseline", "this run"]
    assert [len(side.processes) for side in case.sides] == [9, 3]
    assert case.sides[1].processes[0].seconds_per_step == pytest.approx((0.0297, 0.03, 0.0303))
    assert "regressed" in case.reason
    assert {state.word: count for state, count in page.counts.items()} == {
        "failed": 1, "regressed": 1, "no baseline": 1, "improved": 1, "unchanged": 1,
    }  # fmt: skip
    assert [case.state.word for case in page.red] == ["failed", "regressed"]


def test_a_session_without_comparison_is_measured_and_compares_nothing():
    page = session_page([makers.result([0.01, 0.011])], compared=False)
    (case,) = page.cases
    assert page.status is Status.MEASURED
    assert (case.state.word, case.metrics) == ("measured", ())
    assert [side.name for side in case.sides] == ["this run"]
    assert all(row.then is None for row in page.versions)
    assert page.visible is None


def test_the_status_is_that_of_the_exit():
    same = [makers.result([0.01, 0.0101, 0.0102], number) for number in range(4)]
    assert session_page(same).status is Status.GREEN
    assert session_page(same, reasons_not_green=("Over budget.",)).status is Status.NOT_GREEN
    assert session_page(same, failed=True).status is Status.RED


def test_missing_and_new_cases_are_named():
    page = session_page([makers.result(0.01, 0), makers.result(0.01, 8)])
    text = " ".join(page.sections[0].paragraphs)
    assert makers.key(1) in text
    assert makers.key(8) in text


def test_versions_stand_on_both_sides_and_hosts_where_they_differ():
    rows = {row.name: row for row in session_page(mixed_results()).versions}
    assert (rows["tensorflow"].then, rows["tensorflow"].now, rows["tensorflow"].differs) == ("2.21.0", "2.22.0", True)
    assert not rows["keras"].differs
    assert (rows["host"].group, rows["host"].then, rows["host"].now) == ("host", "a", "b")


def test_a_version_that_cases_do_not_share_names_each_the_commonest_first():
    old, new = makers.environment("2.20.0"), makers.environment("2.21.0")
    rows = {row.name: row for row in versions.both([new, new, old], [new], None)}
    assert rows["tensorflow"].then == "2.21.0, 2.20.0"


def test_many_packages_that_differ_are_counted():
    now = dataclasses.replace(makers.environment(), packages={f"package{n}": "2" for n in range(60)})
    rows = [row for row in versions.both([makers.environment()], [now], None) if row.group == "package"]
    assert len(rows) == 41
    assert rows[-1].name == "and 20 more packages"


def test_a_paired_page_shows_the_fresh_pairs_that_decided():
    slow = paired(around(0.2))
    page = paired_page([slow, paired(number=1)], [paired(around(0.21, count=12))])
    case = by_key(page)[makers.key(0)]
    assert case.state.word == "regressed"
    assert len(case.step.ratios) == 12
    assert [len(side.processes) for side in case.sides] == [12, 12]
    assert [metric.metric for metric in case.metrics] == ["time per step", "first call", "peak memory"]
    assert by_key(page)[makers.key(1)].state.word == "unchanged"


def test_a_page_decides_nothing():
    """Every word and interval is the one that was decided, whatever the numbers beside it would say."""
    found = outcome([paired(around(0.2)), paired(number=1), paired(around(-0.4), 2)])
    page = paired_page([paired(around(0.2)), paired(number=1), paired(around(-0.4), 2)])
    for case in page.cases:
        judged = found.judgements[case.key]
        assert case.state == of_verdict(judged.verdict)
        assert [metric.change for metric in case.metrics] == [judgement.change for judgement in judged.metrics.values()]


@pytest.mark.parametrize("verdict", Verdict)
def test_every_verdict_has_a_word_a_sign_and_is_red_where_its_test_fails(verdict):
    state = of_verdict(verdict)
    assert state.word == str(verdict)
    assert state.sign
    assert (state.tone is Tone.RED) == verdict.is_red


def test_stored_runs_show_the_newest_as_it_was_stored():
    newest = makers.run(
        [makers.result(0.03), makers.failed(1)], 6, red={makers.key(): "regressed: 3 times"}, complete=False
    )
    page = from_run(newest, history((*RUNS, newest)), ["0002 is broken"])
    cases = by_key(page)
    assert (cases[makers.key()].state.word, cases[makers.key()].reason) == ("red when stored", "regressed: 3 times")
    assert cases[makers.key(1)].state.word == "failed"
    assert page.status is Status.RED
    remarks = " ".join(page.remarks)
    assert "0002 is broken" in remarks
    assert "only a part" in remarks
    assert "2 cases of earlier runs" in remarks


def test_a_trend_marks_upgrades_and_promotions():
    found = history()
    assert found.steps == {"cpu": {3: "tensorflow 2.21.0 -> 2.22.0"}}
    (promotion,) = found.promotions[makers.key()]
    assert promotion.runs == tuple(run.name for run in RUNS[:3])
    points = found.cases[makers.key()]
    assert [run for run, _ in points] == [0, 1, 2, 3, 4]
    assert points[0][1].seconds_low < points[0][1].seconds_per_step < points[0][1].seconds_high


def test_work_that_was_measured_in_several_ways_stands_in_one_row():
    loop = makers.result([0.01, 0.0101, 0.0102])
    xla = makers.result(
        [0.005, 0.0051, 0.0052],
        spec_changes={"key": "forward[w0-b32-cpu-xla-float32]", "kernel": "xla"},
        facts=makers.facts(kernel="xla"),
    )
    table = sections.which_table(session_page([loop, xla, makers.result(0.01, 1)], compared=False).cases)
    assert table.headers == ("path", "work", "precision", "cpu loop", "cpu xla")
    (row,) = table.rows
    assert row[1] == "w0, batch 32"
    assert row[-2].startswith("10.1")
    assert row[-1].startswith("5.10")
    assert sections.which_table(session_page([loop], compared=False).cases) is None


def test_first_calls_and_memory_stand_with_what_was_judged_of_them():
    table = sections.once_table(paired_page([paired(around(0.0))]).cases)
    assert table.headers[1:3] == ("first call, baseline", "first call, candidate")
    assert "first call = unchanged" in table.rows[0][-1]
    assert "MiB" in table.headers[3]
