"""What is shown of the ledger, and that the document shows this ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.benchmarks.gate_quality import __main__ as command
from docs.benchmarks.gate_quality import ledger, tables
from docs.benchmarks.gate_quality.ledger import Against, MetricLine
from docs.benchmarks.gate_quality.markdown import put_into
from perf.harness.errors import Refusal
from perf.harness.paired_evidence import Metric
from perf.harness.records import Verdict
from tests.benchmarks.makers import case_line, session_line

DOCUMENT = Path(__file__).parents[2] / "docs" / "gate-quality.md"


def cells(text: str, first: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {first} |")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_false_alarms_are_counted_with_their_bound_by_margin_and_baseline():
    quiet = session_line(*[case_line(key=f"forward[{number}]") for number in range(8)])
    rebuilt = session_line(case_line(), case_line(Verdict.INCONCLUSIVE, "b"), against=Against.REBUILT)
    shown = tables.live_tables([*[quiet] * 25, rebuilt])
    assert cells(shown, "same environment") == [
        "same environment", "5 %", "25", "0 of 200 (below 1.5 %)", "0", "0", "0", "0", "4.0"
    ]  # fmt: skip
    assert cells(shown, "rebuilt environment")[2:] == ["1", "0 of 2 (below 78 %)", "0", "0", "0", "1", "4.0"]
    assert "26 sessions from 2025-01-01 to 2025-01-01, 1.7 hours" in shown
    assert "wrong in none" in shown


def test_a_red_by_a_first_call_is_told_apart_and_listed():
    metrics = {
        Metric.STEP: MetricLine(Verdict.UNCHANGED, 1.0, 0.98, 1.02, 0.9, 6),
        Metric.FIRST_CALL: MetricLine(Verdict.REGRESSED, 1.6, 1.4, 1.8, 0.95, 12),
    }
    red = case_line(Verdict.REGRESSED, metrics=metrics, pairs_confirmed=12)
    shown = tables.live_tables([session_line(red)])
    assert cells(shown, "same environment")[4:7] == ["0", "1", "0"]
    assert "| first call | regressed | ×1.600 (1.400–1.800) | 6+12 |" in shown


def test_what_was_found_is_a_share_with_its_interval_and_what_was_not_is_listed():
    found = case_line(Verdict.REGRESSED, seen=1.11, metrics={Metric.STEP: line(Verdict.REGRESSED)})
    missed = case_line(Verdict.INCONCLUSIVE, "b", seen=1.05, metrics={Metric.STEP: line(Verdict.INCONCLUSIVE)})
    shown = tables.live_tables([session_line(*[found] * 5, factor=1.1), session_line(*[found] * 4, missed, factor=1.1)])
    assert cells(shown, "+10 %")[1:] == [
        "5 %", "same environment", "2", "90 % (55–100), 9 of 10", "×1.110 (1.110–1.110)", "4.0"
    ]  # fmt: skip
    assert shown.count("| `b` | time per step | inconclusive |") == 1


def test_a_slowed_case_that_is_red_by_its_first_call_only_was_not_found():
    metrics = {Metric.STEP: line(Verdict.INCONCLUSIVE), Metric.FIRST_CALL: line(Verdict.REGRESSED)}
    shown = tables.live_tables([session_line(case_line(Verdict.REGRESSED, metrics=metrics), factor=1.05)])
    assert "0 of 1" in cells(shown, "+5 %")[4]


def test_what_was_seen_of_a_slowdown_is_told_by_case():
    def session(factor: float, first: float, second: float):
        return session_line(case_line(seen=first), case_line(key="b", seen=second), factor=factor)

    shown = tables.live_tables([session(1.1, 1.1, 1.2), session(1.1, 1.2, 1.2), session(1.05, 1.05, 1.3)])
    assert "| case | +5 % injected | +10 % injected |" in shown
    assert "| `forward[a]` | ×1.050 | ×1.150 (1.125–1.175) |" in shown
    assert "| `b` | ×1.300 | ×1.200 (1.200–1.200) |" in shown


def line(verdict: Verdict) -> MetricLine:
    return MetricLine(verdict, 1.1, 1.05, 1.15, 0.9, 12)


def test_machines_are_not_mixed():
    shown = tables.live_tables([session_line(), session_line(machine="slow-cpu")])
    assert shown.count("Machine `") == 2
    assert shown.count("0 of 1 (below 95 %)") == 2


def test_a_table_is_put_between_its_marks_and_nowhere_else(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("above\n<!-- live -->\nold\n<!-- end of live -->\nbelow\n")
    put_into(path, "live", "new")
    put_into(path, "live", "newer")
    assert path.read_text() == "above\n<!-- live -->\n\nnewer\n\n<!-- end of live -->\nbelow\n"
    with pytest.raises(Refusal, match="<!-- replay -->"):
        put_into(path, "replay", "new")


def test_the_document_shows_the_ledger(tmp_path):
    copy = tmp_path / "page.md"
    copy.write_text(DOCUMENT.read_text())
    assert command.main(["table", "--into", str(copy)]) == 0
    assert copy.read_text() == DOCUMENT.read_text(), (
        "python -m docs.benchmarks.gate_quality table --into docs/gate-quality.md"
    )


def test_every_session_in_the_ledger_can_be_read():
    sessions = ledger.read(command.LEDGER)
    assert len({session.raw for session in sessions}) == len(sessions)
