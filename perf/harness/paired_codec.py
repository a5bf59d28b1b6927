"""Paired results to plain JSON values and back, as strictly as :mod:`perf.harness.codec`."""

from __future__ import annotations

from typing import Any

from perf.harness.codec import (
    SCHEMA,
    check_schema,
    decode_environment,
    decode_failure,
    decode_sample,
    decode_spec,
    encode_environment,
    encode_failure,
    encode_sample,
    encode_spec,
)
from perf.harness.entry import Entry
from perf.harness.paired_records import (
    BASELINE,
    CANDIDATE,
    SIDES,
    PairedMeasured,
    PairedResult,
    PairSample,
    SideName,
)


def encode_measured(measured: PairedMeasured) -> dict[str, Any]:
    """All that one stage measured: raw rounds by case, environments and starts by side and device."""
    return {
        "schema": SCHEMA,
        "seed": measured.seed,
        "seconds": measured.seconds,
        "unfinished": list(measured.unfinished),
        "environments": {
            side: {device: encode_environment(one) for (of, device), one in measured.environments.items() if of == side}
            for side in SIDES
        },
        "startup_seconds": {
            side: {device: list(each) for (of, device), each in measured.startup_seconds.items() if of == side}
            for side in SIDES
        },
        "results": {key: encode_paired_result(result) for key, result in measured.results.items()},
    }


def decode_measured(entry: Entry) -> PairedMeasured:
    """Inverse of :func:`encode_measured`; raises :class:`~perf.harness.errors.Refusal` naming the entry."""
    check_schema(entry)
    entry.closed("schema", "seed", "seconds", "unfinished", "environments", "startup_seconds", "results")
    environments, starts = entry["environments"].closed(*SIDES), entry["startup_seconds"].closed(*SIDES)
    results = {key: decode_paired_result(result) for key, result in entry["results"].items()}
    for key, result in results.items():
        if result.spec.key != key:
            entry["results"][key]["spec"]["key"].refuse(f"{key!r}, the case that it stands under")
    return PairedMeasured(
        results=results,
        environments={
            (side, device): decode_environment(one) for side in SIDES for device, one in environments[side].items()
        },
        startup_seconds={
            (side, device): tuple(value.positive() for value in each.elements())
            for side in SIDES
            for device, each in starts[side].items()
        },
        unfinished=tuple(key.text() for key in entry["unfinished"].elements()),
        seed=entry["seed"].integer(),
        seconds=entry["seconds"].number(),
    )


def encode_paired_result(result: PairedResult) -> dict[str, Any]:
    """A case with the raw rounds of both sides by pair of processes."""
    return {
        "schema": SCHEMA,
        "spec": encode_spec(result.spec),
        "pairs": [encode_pair(pair) for pair in result.pairs],
        "failure": None if result.failure is None else encode_failure(result.failure),
        "failed_side": result.failed_side,
        "not_comparable": result.not_comparable,
    }


def decode_paired_result(entry: Entry) -> PairedResult:
    """Inverse of :func:`encode_paired_result`; raises :class:`~perf.harness.errors.Refusal` naming the entry."""
    schema = check_schema(entry)
    entry.closed("schema", "spec", "pairs", "failure", "failed_side", "not_comparable")
    failed, side, reason = entry["failure"], entry["failed_side"], entry["not_comparable"]
    return PairedResult(
        spec=decode_spec(entry["spec"]),
        pairs=tuple(decode_pair(pair, schema) for pair in entry["pairs"].elements()),
        failure=None if failed.value is None else decode_failure(failed),
        failed_side=None if side.value is None else _side(side),
        not_comparable=None if reason.value is None else reason.text(),
    )


def encode_pair(pair: PairSample) -> dict[str, Any]:
    return {"pair": pair.pair, "first": pair.first, **{side: encode_sample(pair.side(side)) for side in SIDES}}


def decode_pair(entry: Entry, schema: int = SCHEMA) -> PairSample:
    """Inverse of :func:`encode_pair`; rounds of two sides that do not belong together are refused."""
    entry.closed("pair", "first", *SIDES)
    baseline, candidate = (decode_sample(entry[side], schema) for side in (BASELINE, CANDIDATE))
    if len(candidate.seconds_per_round) != len(baseline.seconds_per_round):
        entry[CANDIDATE]["seconds_per_round"].refuse(f"{len(baseline.seconds_per_round)} rounds, as on the other side")
    if candidate.steps_per_round != baseline.steps_per_round:
        entry[CANDIDATE]["calls_per_round"].refuse(f"{baseline.steps_per_round} steps per round, as on the other side")
    return PairSample(entry["pair"].integer(minimum=1), _side(entry["first"]), baseline, candidate)


def _side(entry: Entry) -> SideName:
    return BASELINE if entry.text(SIDES) == BASELINE else CANDIDATE
