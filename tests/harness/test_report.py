"""What a person reads: whole words, no more digits than the spread supports, at most 120 columns."""

from __future__ import annotations

import pytest

from perf.harness import numbers
from perf.harness.records import Change
from perf.harness.report import comparison as compared_report
from perf.harness.report import results as results_report
from perf.harness.stats import Estimate
from perf.harness.verdict import Margins, compare
from tests.harness import makers

ENVIRONMENTS = {"cpu": makers.environment("2.22.0")}
RUNS = [makers.run([makers.result(0.01, number) for number in range(4)], day) for day in (1, 2, 3)]


def compared(results, baseline=None):
    return compare(
        {r.spec.key: r for r in results}, ENVIRONMENTS, baseline or makers.baseline_of(*RUNS), RUNS, Margins()
    )


def keyed(results):
    return {result.spec.key: result for result in results}


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.0123456, 0.0119, 0.0128), "12.35 ms 11.90–12.80"),
        (Estimate(0.0123456, 0.0100, 0.0150), "12.3 ms 10.0–15.0"),
        (Estimate(0.0123456, 0.0012, 0.1234), "12 ms 1–123"),
        (Estimate(0.0123456, None, None), "12.3 ms"),
        (Estimate(2.5, None, None), "2.50 s"),
        (Estimate(3.1e-5, None, None), "31.0 µs"),
        (Estimate(0.01, 0.01, 0.01), "10.0 ms 10.0–10.0"),
    ],
)
def test_times_show_what_their_spread_supports(estimate, text):
    assert numbers.seconds(estimate) == text


def test_rates_memory_and_ratios():
    assert numbers.per_second(Estimate(2612.0, 2500.0, 2700.0)) == "2.61 k 2.50–2.70"
    assert numbers.per_second(Estimate(64.0, None, None)) == "64.0"
    assert numbers.mebibytes(Estimate(330 * 2**20, 315 * 2**20, 345 * 2**20)) == "330 315–345"
    assert numbers.ratio(Change(1.9712, 1.62, 2.4, 0.9)) == "1.97 (1.62–2.40)"
    assert numbers.ratio(Change(1.0, 1.0, 1.0, 0.9)) == "1.00 (1.00–1.00)"


def test_the_table_shows_kernel_times_and_memory():
    table = results_report.results_table(
        keyed([makers.result([0.010, 0.0101, 0.0102]), makers.result(0.5, 1, steady=False), makers.failed(2)])
    )
    assert "cpu, float32; 1–3 processes" in table
    assert "forward w0-b32  loop " in table
    assert "10.10 ms 9.85–10.35" in table
    assert "99.0 96.6–101.5" in table
    assert "3.17 k" in table
    assert "500 ms unsteady" in table
    assert f"failed: {makers.key(2)}: was killed" in table
    once = results_report.once_table(keyed([makers.result([0.010, 0.0101, 0.0102]), makers.failed(2)]))
    assert "first call" in once
    assert "peak host MiB" in once
    assert makers.key(2) not in once
    assert results_report.once_table(keyed([makers.failed(2)])) == ""


def test_what_cases_do_not_share_stands_in_their_names():
    gpu = makers.result(0.01, 1, spec_changes={"device": "gpu", "precision": "mixed_float16"})
    table = results_report.results_table(keyed([makers.result(0.01), gpu]))
    assert "forward w0-b32 cpu float32" in table
    assert "forward w1-b32 gpu mixed_float16" in table


def test_a_kernel_that_was_left_to_the_framework_stands_beside_the_one_that_ran():
    auto = makers.result(0.01, spec_changes={"kernel": "auto", "expects_kernel": None})
    assert "forward w0-b32 auto  loop " in results_report.results_table(keyed([auto]))


def test_tables_fit_the_width():
    long = {"workload": "translation-2layer", "path": "evaluate", "kernel": "unrolled"}
    results = keyed(
        [
            makers.result([0.0111111, 0.0121, 0.0112], number, spec_changes=long, facts=makers.facts(kernel="unrolled"))
            for number in range(4)
        ]
    )
    verdicts = compared_report.comparison_table(compared(list(results.values())), results)
    for line in [*results_report.results_table(results).splitlines(), *verdicts.splitlines()]:
        assert len(line) <= 120, line


def test_single_calls_have_percentiles():
    calls = tuple(0.001 * n for n in range(1, 101))
    kept = makers.result([0.01, 0.01], seconds_per_call=calls)
    table = results_report.calls_table(keyed([kept, makers.result(0.01, 1)]))
    assert "200" in table
    assert "50.50 ms" in table
    assert "95.05 ms" in table
    assert "99.01 ms" in table
    assert "w1" not in table
    assert results_report.calls_table(keyed([makers.result(0.01)])) == ""


def test_verdicts_stand_in_their_own_table():
    results = [makers.result(0.03), *(makers.result(0.01, number) for number in (1, 2, 3))]
    comparison = compared(results)
    table = compared_report.comparison_table(comparison, keyed(results))
    line = next(line for line in table.splitlines() if "regressed" in line)
    assert "forward w0-b32 loop" in line
    assert "3.0" in line
    assert "3 runs" in line
    assert table.count("unchanged") == 3


def test_the_header_names_versions_and_host_that_differ():
    comparison = compared([makers.result(0.01, number) for number in range(4)])
    header = compared_report.comparison_header(comparison, makers.machine(host="b"), ENVIRONMENTS)
    assert header.splitlines() == [
        "Compared with perf/baselines/fast-cpu-1a2b.json",
        "  tensorflow 2.21.0 -> 2.22.0, keras 3.15.1 (same)",
        "  host: a -> b",
    ]


def test_a_slow_run_is_the_first_line():
    comparison = compared([makers.result(0.0107, number) for number in range(4)])
    first = compared_report.comparison_header(comparison, makers.machine(), ENVIRONMENTS).splitlines()[0]
    assert first.startswith("This run is 7 % slower throughout")
    assert "the machine" in first


def test_the_summary_counts_and_says_what_could_be_seen_missing_and_new():
    comparison = compared([makers.result(0.03), makers.result(0.01, 1), makers.result(0.01, 9)])
    text = compared_report.summary(comparison, deselected=2, promote_run="0004_night")
    assert text.splitlines()[0] == "1 regressed, 1 unchanged, 1 no baseline, 2 deselected"
    assert "Smallest change that would have been red: ×1.05" in text
    assert f"missing: {makers.key(2)}" in text
    assert f"missing: {makers.key(3)}" in text
    assert f"new: {makers.key(9)}" in text
    assert "python -m perf promote 0004_night -k CASE --reason TEXT" in text
    assert "15 %" not in text


def test_few_runs_and_informing_facts_are_said():
    results = [makers.result(0.01, facts=makers.facts(resolved={"jit_compile": "True"}))]
    text = compared_report.summary(compare(keyed(results), ENVIRONMENTS, makers.baseline_of(RUNS[0]), [], Margins()))
    assert "spread of 15 % is assumed" in text
    assert f"differs, for information: {makers.key()}: jit_compile: False -> True" in text


def test_a_session_without_comparison_is_counted():
    results = keyed([makers.result(0.01), makers.result(0.01, 1, steady=False), makers.failed(2)])
    assert results_report.measured_summary(results).startswith("2 measured, 1 failed, 1 unsteady; nothing was compared")
