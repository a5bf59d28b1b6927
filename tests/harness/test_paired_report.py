"""What a person sees of a paired session, from records alone."""

from __future__ import annotations

import dataclasses

from perf.harness.paired_evidence import Metric
from perf.harness.paired_records import BASELINE, CANDIDATE, PairedMeasured, PairedResult
from perf.harness.paired_screen import screen
from perf.harness.paired_session import PairedOutcome
from perf.harness.paired_verdict import decide, not_decided
from perf.harness.records import Verdict
from perf.harness.report import paired as shown
from perf.harness.verdict import Margins
from tests.harness.makers import environment, facts, key
from tests.harness.paired_makers import around, environments, paired

MARGINS = Margins(5.0)


def outcome(*first: PairedResult, again: PairedResult | None = None, sides=None) -> PairedOutcome:
    results = {result.spec.key: result for result in first}
    confirmed = {} if again is None else {again.spec.key: again}
    sides = sides or environments()
    starts = dict.fromkeys(sides, (3.0, 3.2, 3.1))
    screened = screen(results, MARGINS)
    return PairedOutcome(
        PairedMeasured(results, sides, starts, (), 1, 60.0),
        screened,
        PairedMeasured(confirmed, sides, {}, (), 1, 30.0) if confirmed else None,
        decide(screened, confirmed, MARGINS, sides),
        not_decided(screened, confirmed, MARGINS),
    )


def rows(text: str) -> dict[str, str]:
    """Lines of the table by their case."""
    return {line.split()[1].removesuffix("-b32"): line for line in text.splitlines() if line.startswith("forward")}


def test_a_row_has_kernels_times_ratio_level_pairs_visible_change_and_verdict():
    cudnn = {"facts": facts(kernel="cudnn")}
    found = rows(
        shown.steps_table(
            outcome(
                paired(around(0.0), 0),
                paired(around(0.1), 1),
                paired(number=2, candidate=cudnn),
                again=paired(around(0.1, count=10), 1),
            )
        )
    )
    words = " ".join(found["w0"].split()[2:])
    assert words == "loop 10.0 ms -> 10.0 ms 1.000 (0.991–1.009) 90 % 6 1.06 unchanged"
    assert "1.105" in found["w1"]
    assert "6+10" in found["w1"]
    assert found["w1"].endswith("regressed")
    assert "loop -> cudnn" in found["w2"]
    assert found["w2"].endswith("kernel changed")


def test_the_table_of_long_names_and_wide_numbers_fits():
    long = {"workload": "classification", "path": "backward", "kernel": "unrolled", "batch": 256}
    first = paired(around(0.03, 0.05), 0)
    results = [first, paired(number=1, candidate={"facts": facts(kernel="unrolled")})]
    results = [dataclasses.replace(result, spec=dataclasses.replace(result.spec, **long)) for result in results]
    text = shown.report(outcome(*results), every=True)
    assert "visible" not in shown.steps_table(outcome(*results))
    assert "visible" in shown.steps_table(outcome(first))
    assert max(map(len, shown.steps_table(outcome(*results)).splitlines())) <= 120
    assert max(map(len, shown.others_table(outcome(*results), every=True).splitlines())) <= 120
    assert "inconclusive" in text


def test_the_header_lists_what_differs_and_fits():
    then, now = environment("2.20.0"), environment("2.21.0", TF_ENABLE_ONEDNN_OPTS="0")
    packages = {f"package{n}": "1" for n in range(40)}
    then = dataclasses.replace(then, packages={**then.packages, **packages, "same": "1"})
    now = dataclasses.replace(now, packages={**now.packages, **dict.fromkeys(packages, "2"), "same": "1"})
    now = dataclasses.replace(now, settings={"onednn": "0"}, devices=("cpu", "gpu"))
    text = shown.header({(BASELINE, "cpu"): then, (CANDIDATE, "cpu"): now})
    words = " ".join(text.split())
    for part in (
        "tensorflow 2.20.0 -> 2.21.0", "keras 3.15.1 (same)", "package0 1 -> 2", "and 24 more",
        "setting onednn 1 -> 0", "variable TF_ENABLE_ONEDNN_OPTS not set -> 0", "devices cpu -> cpu, gpu",
    ):  # fmt: skip
        assert part in words
    assert "same 1" not in words
    assert words.count("tensorflow") == 1
    assert max(map(len, text.splitlines())) <= 120


def test_devices_with_other_differences_have_lines_of_their_own():
    sides = {
        **environments(),
        (BASELINE, "gpu"): environment("2.20.0"),
        (CANDIDATE, "gpu"): environment("2.21.0", TF_X="1"),
    }
    first, second = shown.header(sides).splitlines()
    assert first.startswith("Baseline -> candidate on cpu")
    assert "TF_X" in second
    del sides[CANDIDATE, "gpu"]  # its worker never started: nothing to compare
    assert len(shown.header(sides).splitlines()) == 1


def test_no_environment_is_no_header():
    assert shown.header({}) == ""


def test_first_calls_and_memory_show_only_where_they_changed():
    slower = {"candidate": {"first_call_seconds": 0.8}}
    fresh = {"candidate": {"first_call_seconds": 0.9}}
    found = outcome(paired(**slower), paired(number=1), again=paired(around(0.0, count=10), **fresh))
    assert found.judgements[key()].metrics[Metric.FIRST_CALL].verdict is Verdict.REGRESSED
    text = shown.others_table(found)
    (row,) = rows(text).values()
    assert "first call" in row
    assert "400 ms" in row
    assert "900 ms" in row  # of the pairs that decided
    (row,) = rows(shown.others_table(outcome(paired(**slower)))).values()
    assert "inconclusive" in row  # suspected and not decided: it is why the session is not green
    assert shown.others_table(outcome(paired())) == ""
    assert len(shown.others_table(outcome(paired()), every=True).splitlines()) == 4


def test_the_start_of_processes_has_its_line():
    assert shown.startup_line(outcome(paired())) == (
        "Process start: on cpu baseline 3.10 s 2.86–3.36, candidate 3.10 s 2.86–3.36 (95 % intervals)"
    )


def test_the_summary_counts_and_says_what_could_have_been_seen():
    text = shown.summary(outcome(paired(around(0.0)), paired(around(0.2), 1)))
    assert text.splitlines()[0] == "1 unchanged, 1 inconclusive"
    assert "×1.06" in text
    assert "Of first calls" in text


def test_the_summary_names_what_informs():
    jit = {"facts": facts(resolved={"jit_compile": "True"})}
    assert "jit_compile: False -> True" in shown.summary(outcome(paired(candidate=jit)))
