"""Pages of each kind, made from small records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perf.harness import paired_screen, paired_verdict
from perf.harness.digest import digest_of
from perf.harness.paired_records import PairedMeasured, PairedResult
from perf.harness.paired_session import PairedOutcome
from perf.harness.records import CaseResult, Run
from perf.harness.report.page.data import Head, PageData, Trend
from perf.harness.report.page.paired_page import from_paired
from perf.harness.report.page.session_page import from_session
from perf.harness.report.page.trend import trend
from perf.harness.verdict import Margins, compare
from tests.harness import makers
from tests.harness.paired_makers import environments

HEAD = Head("Compared with something", makers.START, "fast-cpu-1a2b", {"profile": "smoke"})
HOSTILE = "<script>document.title='owned'</script>"
#: Three nights, then an upgrade and two more.
RUNS = tuple(
    makers.run(
        [makers.result([0.01, 0.0101, 0.0102], number) for number in range(4)],
        day,
        environments={"cpu": makers.environment("2.21.0" if day < 4 else "2.22.0")},
    )
    for day in range(1, 6)
)


def hostile(seconds: float = 0.01) -> CaseResult:
    """A case whose workload is named like markup; a user's file may name it anything."""
    spec = makers.spec(9, workload=HOSTILE, key=f"forward[{HOSTILE}-b32-cpu-loop-float32]")
    return CaseResult(spec, makers.result(seconds, 9).samples)


def session_page(results: Sequence[CaseResult], *, compared: bool = True, **changes: Any) -> PageData:
    """A session of today against the first three of :data:`RUNS`."""
    by_key = {result.spec.key: result for result in results}
    now = {"cpu": makers.environment("2.22.0")}
    comparison = compare(by_key, now, makers.baseline_of(*RUNS[:3]), RUNS[:3], Margins()) if compared else None
    return from_session(HEAD, by_key, now, makers.machine(host="b"), comparison, **changes)


def mixed_results() -> list[CaseResult]:
    """One slower, one the same, one faster, one failed, and one that is new and hostile."""
    slower, faster = makers.result([0.03, 0.0302, 0.0303]), makers.result([0.005, 0.0051, 0.0052], 2)
    return [slower, makers.result([0.01, 0.0101, 0.0102], 1), faster, makers.failed(3), hostile()]


def history(runs: Sequence[Run] = RUNS) -> Trend:
    found = trend(map(digest_of, runs), makers.baseline_of(*RUNS[:3]))
    assert found is not None
    return found


def outcome(first: Sequence[PairedResult], again: Sequence[PairedResult] = ()) -> PairedOutcome:
    """What a paired session would have decided of these results."""
    measured, confirming = (
        PairedMeasured({r.spec.key: r for r in results}, environments(), {("baseline", "cpu"): (1.0, 1.1)}, (), 7, 60.0)
        for results in (first, again)
    )
    screened = paired_screen.screen(measured.results, Margins())
    judgements = paired_verdict.decide(screened, confirming.results, Margins(), environments())
    undecided = paired_verdict.not_decided(screened, confirming.results, Margins())
    return PairedOutcome(measured, screened, confirming if again else None, judgements, undecided)


def paired_page(first: Sequence[PairedResult], again: Sequence[PairedResult] = (), **changes: Any) -> PageData:
    return from_paired(HEAD, outcome(first, again), **changes)
