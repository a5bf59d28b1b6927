"""Measures the suspects of a stored comparison side by side with the environment of their baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from perf.harness import machine as machines
from perf.harness import rebuild, suspects
from perf.harness.builds import BuiltSide
from perf.harness.environment import Side
from perf.harness.errors import Refusal
from perf.harness.frameworks import by_canonical_name
from perf.harness.journal import Journal
from perf.harness.measure import Progress, Settings
from perf.harness.message import promotion
from perf.harness.numbers import counted
from perf.harness.paired_evidence import Metric
from perf.harness.paired_records import BASELINE
from perf.harness.paired_session import PairedOutcome, run_paired
from perf.harness.records import BaselineCase, CaseSpec, Comparison, Environment, Judgement, Machine, Verdict
from perf.harness.verdict import Margins

#: Pairs of the first look; what it suspects is confirmed with fresh ones, as with ``--perf-against``.
PAIRS = 6

Rebuild = Callable[[Environment, Mapping[str, str], Callable[[str], None]], BuiltSide]


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of the suspects. ``comparison`` has their final verdicts, ``outcomes`` what was measured, one for
    each environment of the baseline; ``alone`` are the suspects that stored numbers decided, by why. ``notes`` say how
    an environment that was brought back differs from the recorded one."""

    comparison: Comparison
    outcomes: tuple[PairedOutcome, ...]
    alone: Mapping[str, str]
    not_decided: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def measured(self) -> tuple[str, ...]:
        """The suspects that were measured side by side."""
        return tuple(key for outcome in self.outcomes for key in outcome.results)

    @property
    def seconds(self) -> float:
        """Of measuring side by side."""
        return sum(outcome.seconds for outcome in self.outcomes)


def decide(
    comparison: Comparison,
    specs: Mapping[str, CaseSpec],
    environments: Mapping[str, Environment],
    machine: Machine,
    margins: Margins,
    settings: Settings,
    progress: Progress,
    journal: Journal,
    bring_back: Rebuild = rebuild.rebuild,
) -> Decision:
    """Replaces the verdicts of ``comparison.suspects``.

    ``specs`` by case, ``environments`` of this run by device. ``settings.budget`` is what is left for this. Holm's
    procedure is applied within each environment. Raises what :func:`perf.harness.paired.measure_pairs` does.
    """
    choice = suspects.choose(comparison.suspects, settings.seed)
    return _Deciding(comparison, specs, environments, machine, margins, settings, progress, journal, bring_back).run(
        choice
    )


@dataclass(frozen=True, slots=True)
class _Deciding:
    comparison: Comparison
    specs: Mapping[str, CaseSpec]
    environments: Mapping[str, Environment]
    machine: Machine
    margins: Margins
    settings: Settings
    progress: Progress
    journal: Journal
    bring_back: Rebuild

    def run(self, choice: suspects.Choice) -> Decision:
        judgements = dict(self.comparison.judgements)
        why = (
            f"{len(self.comparison.suspects)} cases are suspected, and {len(choice.chosen)} of them are measured again"
        )
        judgements |= {key: suspects.left_undecided(judgements[key], why) for key in choice.left}
        outcomes: list[PairedOutcome] = []
        alone: dict[str, str] = {}
        notes: list[str] = []
        budget = self.settings.budget
        for keys in self._by_environment(choice.chosen):
            recorded = self._case(keys[0]).environment
            try:
                side, differs = self._side(recorded, self.environments[self.specs[keys[0]].device])
            except Refusal as refusal:
                alone |= dict.fromkeys(keys, _clause(str(refusal)))
                continue
            notes += [note for note in differs if note not in notes]
            self.progress.waiting(
                f"measuring {counted(len(keys), 'suspect')} side by side with the baseline's environment"
            )
            outcome = run_paired(
                [self.specs[key] for key in keys],
                replace(self.settings, budget=budget),
                side,
                Side(),
                PAIRS,
                self.margins,
                self.progress,
                self.journal,
                metrics=(Metric.STEP,),
            )
            budget = None if budget is None else max(budget - outcome.seconds, 0.0)
            outcomes.append(outcome)
            judgements |= {key: self._judgement(key, outcome, alone) for key in keys}
        judgements |= {key: suspects.by_numbers_alone(judgements[key], why) for key, why in alone.items()}
        not_decided = [*choice.left, *(key for outcome in outcomes for key in _undecided(outcome))]
        return Decision(
            replace(self.comparison, judgements=judgements), tuple(outcomes), alone, tuple(not_decided), tuple(notes)
        )

    def _case(self, key: str) -> BaselineCase:
        return self.comparison.baseline.cases[key]

    def _by_environment(self, keys: tuple[str, ...]) -> list[list[str]]:
        """Cases were perhaps promoted at different times: together those of one environment."""
        groups: dict[str, list[str]] = {}
        for key in keys:
            groups.setdefault(repr(self._case(key).environment.same_software), []).append(key)
        return list(groups.values())

    def _side(self, recorded: Environment, now: Environment) -> tuple[Side, tuple[str, ...]]:
        """Where the baseline's side runs, and how that differs from what was recorded."""
        if same_packages(recorded, now):
            return Side(variables={**dict.fromkeys(now.variables), **recorded.variables}), ()
        self.progress.waiting("bringing back the environment of the baseline")
        built = self.bring_back(recorded, now.variables, self.progress.waiting)
        return built.side, built.released

    def _judgement(self, key: str, outcome: PairedOutcome, alone: dict[str, str]) -> Judgement:
        stored = self.comparison.judgements[key]
        paired = outcome.judgements[key].metrics[Metric.STEP]
        result = outcome.results[key]
        confirmed = outcome.confirmed.get(key)
        failed_there = BASELINE in (result.failed_side, confirmed.failed_side if confirmed else None)
        if failed_there or paired.verdict is Verdict.NOT_COMPARABLE:
            alone[key] = f"the case does not run in the baseline's environment now ({_clause(paired.reason)})"
            return stored
        if key in _undecided(outcome):
            return suspects.left_undecided(stored, "the budget ended")
        baseline = promotion(self.comparison.baseline.name, self._case(key))
        return suspects.decided(stored, paired, baseline=baseline, machine=self._host())

    def _host(self) -> str:
        then = self.comparison.baseline.machine.informs
        fields = machines.differing(self.machine.informs, then)
        return ", ".join(f"{field} {there} -> {here}" for field, here, there in fields)


def same_packages(recorded: Environment, now: Environment) -> bool:
    """Whether the interpreter of this run has what was recorded, so that only variables can differ."""

    def software(environment: Environment) -> tuple[object, ...]:
        packages = by_canonical_name(environment.packages)
        kept = {name: version for name, version in packages.items() if name not in rebuild.NOT_REBUILT}
        return environment.versions.get("python"), kept

    return software(recorded) == software(now)


def _undecided(outcome: PairedOutcome) -> tuple[str, ...]:
    """The cases that the budget left without a verdict."""
    return tuple(key for key in outcome.results if key in outcome.not_decided or key in outcome.unfinished)


def _clause(message: str) -> str:
    return " ".join(message.split()).rstrip(".")
