"""The ledger of live sessions: a line of JSON for each one that was finished, kept with the sources."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from perf.harness.entry import Entry, parse_json
from perf.harness.errors import Refusal
from perf.harness.paired_evidence import Metric
from perf.harness.records import Verdict

#: Of the ledger's lines; a reader refuses a newer one.
SCHEMA = 1


class Against(StrEnum):
    """What the baseline's workers ran in: the candidate's environment itself, or one rebuilt from its description."""

    SAME = "same environment"
    REBUILT = "rebuilt environment"


@dataclass(frozen=True, slots=True)
class MetricLine:
    """The verdict on one metric of a case, with the ratio candidate / baseline, its interval and the pairs behind it.

    ``None`` where facts decided or too little was measured.
    """

    verdict: Verdict
    ratio: float | None
    low: float | None
    high: float | None
    level: float | None
    pairs: int | None


@dataclass(frozen=True, slots=True)
class CaseLine:
    """What a session found for one case.

    ``seen`` is the screen's ratio of the time per step, which no selection has touched; ``pairs_confirmed`` is 0 where
    nothing was suspected.
    """

    key: str
    verdict: Verdict
    seen: float | None
    pairs_screened: int
    pairs_confirmed: int
    metrics: Mapping[Metric, MetricLine]

    @property
    def step(self) -> Verdict:
        """On the time per step, which is what an injected slowdown stretches; facts stand there too."""
        return self.metrics[Metric.STEP].verdict


@dataclass(frozen=True, slots=True)
class SessionLine:
    """One finished session.

    ``factor`` is that by which the candidate was slowed, 1 where nothing was. ``revision`` is the last commit of what
    measures and judges, with ``+changes`` where it was not committed; ``None`` outside a checkout. ``load_begin`` and
    ``load_end`` are the load average over a minute. ``raw_bytes`` is the size of the compressed file ``raw``.
    """

    date: datetime
    machine: str
    versions: Mapping[str, str]
    revision: str | None
    factor: float
    margin_percent: float
    against: Against
    pairs: int
    seed: int
    seconds: float
    load_begin: float
    load_end: float
    raw: str
    raw_bytes: int
    cases: tuple[CaseLine, ...]

    @property
    def nothing_changed(self) -> bool:
        """Whether every red in it is a false alarm."""
        return self.factor == 1.0


def append(path: Path, session: SessionLine) -> None:
    """Adds one line, in one write that is on the disk when this returns; ``OSError`` where it cannot be."""
    line = encode(session) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())


def read(path: Path) -> tuple[SessionLine, ...]:
    """All sessions in their order, none where there is no file; raises :class:`Refusal` naming the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{path}: cannot be read: {error}.") from None
    if text and not text.endswith("\n"):
        raise Refusal(f"{path}: the last line was cut short. Remove it: its session is to be measured again.")
    return tuple(
        decode(parse_json(line, path, f"line {number}")) for number, line in enumerate(text.splitlines(), start=1)
    )


def encode(session: SessionLine) -> str:
    """One line of JSON; ``ValueError`` for a number that is not finite."""
    plain = {"schema": SCHEMA, **asdict(session), "date": session.date.isoformat()}
    return json.dumps(plain, allow_nan=False, ensure_ascii=False)


def decode(entry: Entry) -> SessionLine:
    """Inverse of :func:`encode`; raises :class:`Refusal` naming the entry."""
    schema = entry["schema"].integer(minimum=1)
    if schema > SCHEMA:
        raise Refusal(f"{entry.file}: {entry.where}: written in form {schema}, this checkout reads up to {SCHEMA}.")
    entry.closed("schema", *SessionLine.__slots__)
    revision, factor = entry["revision"], entry["factor"].number()
    if factor < 1:
        entry["factor"].refuse("a factor of 1 or more")
    return SessionLine(
        date=entry["date"].date(),
        machine=entry["machine"].text(),
        versions=entry["versions"].texts(),
        revision=None if revision.value is None else revision.text(),
        factor=factor,
        margin_percent=entry["margin_percent"].positive(),
        against=Against(entry["against"].text(list(Against))),
        pairs=entry["pairs"].integer(minimum=1),
        seed=entry["seed"].integer(),
        seconds=entry["seconds"].positive(),
        load_begin=entry["load_begin"].number(),
        load_end=entry["load_end"].number(),
        raw=entry["raw"].text(),
        raw_bytes=entry["raw_bytes"].integer(minimum=1),
        cases=tuple(_decode_case(case) for case in entry["cases"].elements(at_least=1)),
    )


def _decode_case(entry: Entry) -> CaseLine:
    entry.closed(*CaseLine.__slots__)
    entry["metrics"][Metric.STEP]
    seen = entry["seen"]
    metrics = {}
    for name, metric in entry["metrics"].items():
        if name not in list(Metric):
            metric.refuse(f"one of the metrics {', '.join(Metric)}")
        metrics[Metric(name)] = _decode_metric(metric)
    return CaseLine(
        key=entry["key"].text(),
        verdict=Verdict(entry["verdict"].text(list(Verdict))),
        seen=None if seen.value is None else seen.positive(),
        pairs_screened=entry["pairs_screened"].integer(),
        pairs_confirmed=entry["pairs_confirmed"].integer(),
        metrics=metrics,
    )


def _decode_metric(entry: Entry) -> MetricLine:
    entry.closed(*MetricLine.__slots__)
    numbers = {
        name: None if entry[name].value is None else entry[name].positive()
        for name in ("ratio", "low", "high", "level")
    }
    pairs = entry["pairs"]
    return MetricLine(
        verdict=Verdict(entry["verdict"].text(list(Verdict))),
        pairs=None if pairs.value is None else pairs.integer(minimum=1),
        **numbers,
    )
