"""One paired session: screen all cases, confirm the suspects with fresh processes, decide."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from perf.harness import paired_screen, paired_verdict
from perf.harness.environment import Side
from perf.harness.journal import Journal
from perf.harness.measure import Progress, Settings
from perf.harness.paired import measure_pairs
from perf.harness.paired_evidence import Metric
from perf.harness.paired_records import PairedMeasured, PairedResult, SideName
from perf.harness.paired_screen import Screened
from perf.harness.paired_verdict import CaseJudgement
from perf.harness.records import CaseSpec, Environment
from perf.harness.verdict import Margins


@dataclass(frozen=True, slots=True)
class PairedOutcome:
    """What a paired session measured and decided.

    ``confirmation`` is ``None`` where nothing had to be confirmed. ``not_decided`` are the candidates that no
    confirmation decided: too many of them, or the budget ended first.
    """

    screening: PairedMeasured
    screened: Screened
    confirmation: PairedMeasured | None
    judgements: Mapping[str, CaseJudgement]
    not_decided: tuple[str, ...]

    @property
    def results(self) -> Mapping[str, PairedResult]:
        """Of the screening, in which every case is."""
        return self.screening.results

    @property
    def confirmed(self) -> Mapping[str, PairedResult]:
        return {} if self.confirmation is None else self.confirmation.results

    @property
    def environments(self) -> Mapping[tuple[SideName, str], Environment]:
        """Of both sides, by side and device."""
        return _environments(self.screening, self.confirmation)

    @property
    def startup_seconds(self) -> Mapping[tuple[SideName, str], tuple[float, ...]]:
        """From starting a worker to its first answer, of all that were started."""
        parts = [self.screening, *([] if self.confirmation is None else [self.confirmation])]
        places = dict.fromkeys(where for part in parts for where in part.startup_seconds)
        return {where: tuple(s for part in parts for s in part.startup_seconds.get(where, ())) for where in places}

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Cases that lack pairs because the budget ended."""
        again = () if self.confirmation is None else self.confirmation.unfinished
        return tuple(dict.fromkeys((*self.screening.unfinished, *again)))

    @property
    def seconds(self) -> float:
        return self.screening.seconds + (0.0 if self.confirmation is None else self.confirmation.seconds)


def run_paired(
    specs: Sequence[CaseSpec],
    settings: Settings,
    baseline: Side,
    candidate: Side,
    pairs: int,
    margins: Margins,
    progress: Progress | None = None,
    journal: Journal | None = None,
    *,
    metrics: Collection[Metric] = tuple(Metric),
    clock: Callable[[], float] = time.monotonic,
) -> PairedOutcome:
    """Measures ``pairs`` pairs of processes of all ``specs`` that are not skipped, measures suspects again, decides.

    Only the ``metrics`` that are asked about are judged.

    ``settings.budget`` (seconds) is that of both parts. In the journal the pairs of the confirmation are those with
    numbers above ``pairs``. Raises what :func:`perf.harness.paired.measure_pairs` does.
    """
    progress = progress or Progress()
    progress.part("screening")
    screening = measure_pairs(specs, settings, baseline, candidate, pairs, progress, journal, clock=clock)
    screened = paired_screen.screen(screening.results, margins, metrics)
    plan = paired_screen.confirmation_plan(screened)
    confirmation = None
    if plan.pairs:
        progress.part("confirming")
        left = None if settings.budget is None else max(settings.budget - screening.seconds, 0.0)
        confirmation = measure_pairs(
            [screening.results[key].spec for key in plan.pairs],
            dataclasses.replace(settings, budget=left),
            baseline,
            candidate,
            plan.pairs,
            progress,
            journal,
            first_pair=pairs + 1,
            clock=clock,
        )
    return judged(screening, confirmation, margins, metrics)


def judged(
    screening: PairedMeasured,
    confirmation: PairedMeasured | None,
    margins: Margins,
    metrics: Collection[Metric] = tuple(Metric),
) -> PairedOutcome:
    """What was measured, with the verdicts on it. Pure: stored rounds can be judged again."""
    screened = paired_screen.screen(screening.results, margins, metrics)
    confirmed = {} if confirmation is None else confirmation.results
    environments = _environments(screening, confirmation)
    return PairedOutcome(
        screening,
        screened,
        confirmation,
        paired_verdict.decide(screened, confirmed, margins, environments),
        paired_verdict.not_decided(screened, confirmed, margins),
    )


def _environments(
    screening: PairedMeasured, confirmation: PairedMeasured | None
) -> dict[tuple[SideName, str], Environment]:
    """The first that was seen of each side and device."""
    return {**(confirmation.environments if confirmation else {}), **screening.environments}
