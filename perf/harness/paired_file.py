"""Files of paired sessions: raw rounds of both sides, from which every verdict can be derived again."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from perf.harness.codec import SCHEMA, check_schema, decode_machine, encode_machine
from perf.harness.entry import Entry, read_json
from perf.harness.paired_codec import decode_measured, encode_measured
from perf.harness.paired_evidence import Metric
from perf.harness.paired_records import PairedMeasured
from perf.harness.paired_session import PairedOutcome, judged
from perf.harness.records import Machine
from perf.harness.storing import write_whole
from perf.harness.suite import PROFILES
from perf.harness.verdict import Margins

#: Under a machine's runs.
FOLDER = "paired"


@dataclass(frozen=True, slots=True)
class PairedRecord:
    """A paired session as it is stored. ``sides`` are what was asked for, in words: the baseline's and the
    candidate's. ``metrics`` are those that were judged."""

    date: datetime
    machine: Machine
    profile: str
    suite: str
    sides: tuple[str, str]
    margins: Margins
    metrics: tuple[Metric, ...]
    screening: PairedMeasured
    confirmation: PairedMeasured | None

    def outcome(self) -> PairedOutcome:
        """The verdicts, derived from the rounds by the rules of this version."""
        return judged(self.screening, self.confirmation, self.margins, self.metrics)


def record(
    outcome: PairedOutcome,
    *,
    date: datetime,
    machine: Machine,
    profile: str,
    suite: str,
    sides: tuple[str, str],
    margins: Margins,
    metrics: Collection[Metric] = tuple(Metric),
) -> PairedRecord:
    """What is stored of ``outcome``."""
    return PairedRecord(
        date, machine, profile, suite, sides, margins, tuple(metrics), outcome.screening, outcome.confirmation
    )


def write(path: Path, record: PairedRecord) -> None:
    """Writes ``record`` whole or not at all, with today's verdicts for readers that do not judge themselves."""
    outcome = record.outcome()
    write_whole(
        path,
        {
            "schema": SCHEMA,
            "date": record.date.isoformat(timespec="seconds"),
            "machine": encode_machine(record.machine),
            "profile": record.profile,
            "suite": record.suite,
            "sides": list(record.sides),
            "margin_percent": record.margins.default_percent,
            "margins_percent": dict(record.margins.by_case),
            "metrics": [str(metric) for metric in record.metrics],
            "verdicts": {key: str(judgement.verdict) for key, judgement in outcome.judgements.items()},
            "screening": encode_measured(record.screening),
            "confirmation": None if record.confirmation is None else encode_measured(record.confirmation),
        },
    )


def read(path: Path) -> PairedRecord:
    """Inverse of :func:`write`; raises :class:`~perf.harness.errors.Refusal` naming file and entry."""
    file = read_json(path)
    check_schema(file)
    file.closed(
        "schema", "date", "machine", "profile", "suite", "sides", "margin_percent", "margins_percent", "metrics",
        "verdicts", "screening", "confirmation",
    )  # fmt: skip
    sides = tuple(side.text() for side in file["sides"].elements(at_least=2))
    if len(sides) != 2:
        file["sides"].refuse("two sides, the baseline's and the candidate's")
    again = file["confirmation"]
    return PairedRecord(
        date=file["date"].date(),
        machine=decode_machine(file["machine"]),
        profile=file["profile"].text(PROFILES),
        suite=file["suite"].text(),
        sides=(sides[0], sides[1]),
        margins=_margins(file),
        metrics=tuple(Metric(metric.text(tuple(Metric))) for metric in file["metrics"].elements(at_least=1)),
        screening=decode_measured(file["screening"]),
        confirmation=None if again.value is None else decode_measured(again),
    )


def _margins(file: Entry) -> Margins:
    by_case = {key: margin.positive() for key, margin in file["margins_percent"].items()}
    return Margins(file["margin_percent"].positive(), by_case)


def keep(path: Path, record: PairedRecord) -> str:
    """Writes the file; what is to be said where that is impossible, and "" where it is done."""
    try:
        write(path, record)
    except OSError as error:
        return f"{path} could not be written ({error.strerror or error}): the rounds are in the journal beside it."
    return ""


def path_for(storage: Path, date: datetime, number: int = 1, suffix: str = ".json") -> Path:
    """Where a session that began at ``date`` keeps its pairs; ``number`` where there are several measurements."""
    return storage / FOLDER / f"{date:%Y%m%d_%H%M%S_%f}{f'-{number}' if number > 1 else ''}{suffix}"
