"""The baseline of a machine: found by hardware, read strictly, written whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from perf.harness import expectation_store
from perf.harness import machine as machines
from perf.harness.codec import (
    SCHEMA,
    WITH_SELECTION,
    check_schema,
    decode_environment,
    decode_machine,
    decode_result,
    encode_environment,
    encode_machine,
    encode_result,
)
from perf.harness.entry import Entry, read_json
from perf.harness.errors import Refusal
from perf.harness.expectation_store import Kept
from perf.harness.records import Baseline, BaselineCase, Environment, Machine, Run
from perf.harness.runs import SAVE
from perf.harness.selection import decode_setting, encode_setting
from perf.harness.selection_records import PromotedSetting
from perf.harness.storing import write_whole
from perf.harness.suite import PROFILES

#: The command that makes a baseline, named wherever one is missing.
PROMOTE = "python -m perf promote RUN... --reason TEXT"
_MAKE_ONE = (
    f"A baseline is promoted from saved runs: '{SAVE}' three times, then '{PROMOTE}'; "
    "it is a file to review and commit."
)


def path_for(directory: Path, machine: Machine) -> Path:
    """Where the baseline of ``machine`` stands."""
    return directory / f"{machine.id}.json"


def load(directory: Path, machine: Machine) -> Baseline:
    """The baseline of ``machine`` in ``directory``.

    Raises :class:`Refusal` where there is none, naming what differs from each machine that has one, and where the
    file was made on other hardware or cannot be read; it never steps back to another file.
    """
    path = path_for(directory, machine)
    if not path.is_file():
        others = _others(directory, machine)
        raise Refusal(f"There is no baseline for this machine ({path}).{others} {_MAKE_ONE}")
    baseline = read(path)
    _same_hardware(str(path), baseline.machine, machine)
    # Messages name the file again and again: as somebody in this folder would.
    here = Path.cwd()
    return replace(baseline, name=str(path.relative_to(here))) if path.is_relative_to(here) else baseline


def from_run(run: Run, machine: Machine) -> Baseline:
    """A run that was named, as the baseline of one comparison: what it measured and did not fail.

    Raises :class:`Refusal` for other hardware, and for a run without any case to compare with.
    """
    _same_hardware(f"run {run.name}", run.machine, machine)
    cases = {
        key: BaselineCase(
            key=key,
            hash=result.spec.hash,
            runs=((run.name, run.date, result),),
            environment=run.environments[result.spec.device],
            profile=run.profile,
            suite=run.suite,
            promoted=run.date,
            reason="named on the command line",
        )
        for key, result in run.cases.items()
        if result.failure is None and result.samples and result.steady
    }
    if not cases:
        raise Refusal(f"Run {run.name} holds no case that was measured to its end, so nothing can be compared with it.")
    table = run.selection
    settings = (
        {}
        if table is None
        else {
            setting: PromotedSetting(table.only([setting]), run.suite, run.date, "named on the command line")
            for setting in table.groups
        }
    )
    return Baseline(name=f"run {run.name}", machine=run.machine, cases=cases, selection=settings)


def differing(ours: Machine, theirs: Machine) -> str:
    """The fields of the identity that differ, with both values; "" where none does."""
    fields = machines.differing(ours.identity, theirs.identity)
    return "; ".join(f"{field}: {there!r} there, {here!r} here" for field, here, there in fields)


def _same_hardware(what: str, theirs: Machine, ours: Machine) -> None:
    if differences := differing(ours, theirs):
        raise Refusal(
            f"{what} comes from other hardware, and times of two machines cannot be compared: {differences}. "
            f"{_MAKE_ONE}"
        )


def _others(directory: Path, machine: Machine) -> str:
    found = []
    for path in sorted(directory.glob("*.json")) if directory.is_dir() else []:
        try:
            found.append(f"{path.name} ({differing(machine, read(path).machine)})")
        except Refusal as refusal:  # it is another machine's and would not be used; still, say it
            found.append(f"{path.name} (cannot be read: {refusal})")
    return f" Baselines of other hardware do not count: {', '.join(found)}." if found else ""


def read(path: Path) -> Baseline:
    """The baseline in ``path``; raises :class:`Refusal` naming file and entry where anything is not as written."""
    file = read_json(path)
    has_selection = check_schema(file) >= WITH_SELECTION
    optional = [expectation_store.BLOCK] if file.has(expectation_store.BLOCK) else []
    optional += ["selection"] if has_selection else []
    file.closed("schema", "machine", "environments", "cases", *optional)
    expectation_store.decode_kept(file)  # refused here, although it is used elsewhere
    environments = {name: decode_environment(entry) for name, entry in file["environments"].items()}
    cases = {key: _decode_case(key, entry, environments) for key, entry in file["cases"].items()}
    if not cases:
        file["cases"].refuse("at least one case")
    settings = {}
    if has_selection:
        settings = {setting: decode_setting(setting, entry) for setting, entry in file["selection"].items()}
    return Baseline(name=str(path), machine=decode_machine(file["machine"]), cases=cases, selection=settings)


def _decode_case(key: str, entry: Entry, environments: dict[str, Environment]) -> BaselineCase:
    entry.closed("hash", "environment", "profile", "suite", "promoted", "reason", "runs")
    name = entry["environment"].text(sorted(environments))
    runs = []
    for run in entry["runs"].elements(at_least=1):
        run.closed("name", "date", "result")
        result = decode_result(run["result"])
        if result.failure is not None:
            run["result"]["failure"].refuse("no failure in a promoted case")
        if result.spec.key != key:
            run["result"]["spec"]["key"].refuse(f"{key!r}, the case that it stands under")
        if result.spec.hash != entry["hash"].text():
            run["result"]["spec"]["hash"].refuse(f"{entry['hash'].value!r}, the hash of its case")
        runs.append((run["name"].text(), run["date"].date(), result))
    return BaselineCase(
        key=key,
        hash=entry["hash"].text(),
        runs=tuple(runs),
        environment=environments[name],
        profile=entry["profile"].text(PROFILES),
        suite=entry["suite"].text(),
        promoted=entry["promoted"].date(),
        reason=entry["reason"].text(),
    )


def write(path: Path, baseline: Baseline, expectations: Mapping[str, Kept] | None = None) -> None:
    """Writes ``baseline`` whole or not at all, and what it keeps of ``expectations``; equal environments are stored
    once."""
    environments: dict[str, dict[str, Any]] = {}
    cases: dict[str, dict[str, Any]] = {}
    for key, case in sorted(baseline.cases.items()):
        encoded = encode_environment(case.environment)
        digest = hashlib.sha256(json.dumps(encoded, sort_keys=True).encode()).hexdigest()[:12]
        environments[digest] = encoded
        cases[key] = {
            "hash": case.hash,
            "environment": digest,
            "profile": case.profile,
            "suite": case.suite,
            "promoted": case.promoted.isoformat(timespec="seconds"),
            "reason": case.reason,
            "runs": [
                {"name": name, "date": date.isoformat(timespec="seconds"), "result": encode_result(result)}
                for name, date, result in case.runs
            ],
        }
    written = {
        "schema": SCHEMA,
        "machine": encode_machine(baseline.machine),
        "environments": environments,
        "cases": cases,
        "selection": {setting: encode_setting(promoted) for setting, promoted in sorted(baseline.selection.items())},
    }
    if expectations:
        written[expectation_store.BLOCK] = expectation_store.encode_kept(expectations)
    write_whole(path, written)
