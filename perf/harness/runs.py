"""Run files: what one session measured, inside a valid pytest-benchmark file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from perf.harness import expectation_store
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
from perf.harness.records import CaseResult, Environment, Machine, Run
from perf.harness.selection import decode_selection, encode_selection
from perf.harness.selection_records import Selection
from perf.harness.suite import PROFILES
from perf.harness.why import store as why_store

#: Name of our part, at the top of the file and in each benchmark's ``extra_info``.
BLOCK = "lstm_perf"
#: The command that makes a run, named wherever one is missing.
SAVE = "pytest perf --benchmark-save=NAME"

_TOP = (
    "schema", "date", "machine", "environments", "profile", "suite", "complete", "interrupted", "seed", "red", "failed",
)  # fmt: skip
_NUMBERED = re.compile(r"(?P<number>[0-9]{4,})_(?P<name>.+)")


@dataclass(frozen=True, slots=True)
class RunBlocks:
    """Our part of a run file: ``top`` goes to its top level, ``cases`` by key into each benchmark's ``extra_info``.

    Cases that failed have no benchmark; they are stored in ``top``.
    """

    top: dict[str, Any]
    cases: dict[str, dict[str, Any]]


def encode_run(
    *,
    date: datetime,
    machine: Machine,
    environments: Mapping[str, Environment],
    profile: str,
    suite: str,
    complete: bool,
    interrupted: bool,
    seed: int,
    red: Mapping[str, str],
    results: Mapping[str, CaseResult],
    selection: Selection | None = None,
) -> RunBlocks:
    """``date`` with its time zone; ``environments`` by device; ``red``: case key, or ``kernel[setting]``, -> why its
    test failed; ``selection``: which kernels Keras would pick on a GPU host, ``None`` where that was not found."""
    failed = {key: encode_result(result) for key, result in results.items() if result.failure is not None}
    top = {
        "schema": SCHEMA,
        "date": date.isoformat(timespec="seconds"),
        "machine": encode_machine(machine),
        "environments": {device: encode_environment(environment) for device, environment in environments.items()},
        "profile": profile,
        "suite": suite,
        "complete": complete,
        "interrupted": interrupted,
        "seed": seed,
        "red": dict(red),
        "failed": failed,
        "selection": None if selection is None else encode_selection(selection),
    }
    measured = {key: result for key, result in results.items() if result.samples and result.failure is None}
    return RunBlocks(top, {key: encode_result(result) for key, result in measured.items()})


def read_run(path: Path) -> Run:
    """The run in ``path``; raises :class:`Refusal` naming file and entry where anything is not as it was written."""
    file = read_json(path)
    if not file.has(BLOCK):
        raise Refusal(
            f"{path}: entry {BLOCK} is missing: the file was not written by this suite, or cut by hand. "
            f"'{SAVE}' makes a run."
        )
    top = file[BLOCK]
    has_selection = check_schema(top) >= WITH_SELECTION
    optional = [block for block in (expectation_store.BLOCK, why_store.BLOCK) if top.has(block)]
    top.closed(*_TOP, *(["selection"] if has_selection else []), *optional)
    expectation_store.decode_all(top)  # refused here, although they are used elsewhere
    why_store.decode(top)
    entries = [_benchmark_entry(benchmark) for benchmark in file["benchmarks"].elements()]
    entries += [entry for _, entry in top["failed"].items()]
    environments = {device: decode_environment(entry) for device, entry in top["environments"].items()}
    cases: dict[str, CaseResult] = {}
    for entry in entries:
        result = decode_result(entry)
        spec = result.spec
        if spec.key in cases:
            entry["spec"]["key"].refuse("each case once")
        if spec.device not in environments and result.failure is None:
            entry["spec"]["device"].refuse(f"a device of {BLOCK}.environments")
        cases[spec.key] = result
    if not cases:
        raise Refusal(f"{path}: holds no case. Move it away; '{SAVE}' makes a run.")
    return Run(
        name=path.stem,
        date=top["date"].date(),
        machine=decode_machine(top["machine"]),
        environments=environments,
        profile=top["profile"].text(PROFILES),
        suite=top["suite"].text(),
        seed=top["seed"].integer(minimum=None),
        complete=top["complete"].flag(),
        interrupted=top["interrupted"].flag(),
        cases=cases,
        red=top["red"].texts(),  # with -x also cases whose tests never ran, and that are not in the file
        selection=decode_selection(top["selection"]) if has_selection and top["selection"].value is not None else None,
    )


def _benchmark_entry(benchmark: Entry) -> Entry:
    # Other tools read these, so a time that cannot be one is refused here too, though nothing is derived from them.
    for name in ("min", "max", "mean", "median"):
        benchmark["stats"][name].positive()
    return benchmark["extra_info"][BLOCK]


@dataclass(frozen=True, slots=True)
class History:
    """Earlier runs of a machine, oldest first, and a warning for each file that could not be read."""

    runs: tuple[Run, ...]
    warnings: tuple[str, ...]


def history(directory: Path) -> History:
    """Complete, uninterrupted runs in ``directory``, whatever their colour.

    A broken file among them is no reason to stop: a spread from the others is still one, and the warning is shown.
    The baseline and a run that was named are never skipped: they are read with :func:`read_run` and refused.
    """
    runs: list[Run] = []
    warnings: list[str] = []
    for path in run_files(directory):
        try:
            run = read_run(path)
        except Refusal as refusal:
            warnings.append(f"left out of the history: {refusal}")
            continue
        if run.complete and not run.interrupted:
            runs.append(run)
    return History(tuple(sorted(runs, key=lambda run: (run.date, run.name))), tuple(warnings))


def find_run(directory: Path, text: str) -> Path:
    """The run file that ``text`` means: a path, a number (``3``, ``0003``), a name, or both (``0003_name``).

    Raises :class:`Refusal` that lists what exists, where there is none or where a name stands for several.
    """
    if text.endswith(".json") and Path(text).is_file():
        return Path(text)
    files = run_files(directory)
    matches = [path for path in files if _means(text, path.stem)]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise Refusal(f"{text!r} stands for several runs: {_listing(matches)}. Name one by its number or its path.")
    if not files:
        raise Refusal(f"There is no run {text!r}: no run of this machine is stored in {directory}. '{SAVE}' makes one.")
    raise Refusal(
        f"There is no run {text!r} in {directory}; there are: {_listing(files)}. '{SAVE}' makes one, and a path to a "
        "file is taken too."
    )


def _means(text: str, stem: str) -> bool:
    parts = _NUMBERED.fullmatch(stem)
    if parts is None:
        return text == stem
    return text in (stem, parts["name"]) or (text.isdecimal() and int(text) == int(parts["number"]))


def run_files(directory: Path) -> list[Path]:
    """The run files of one machine, in the order of their numbers."""
    return sorted(directory.glob("*.json")) if directory.is_dir() else []


def _listing(files: list[Path], at_most: int = 10) -> str:
    names = ", ".join(path.stem for path in files[-at_most:])
    return names if len(files) <= at_most else f"{names} and {len(files) - at_most} older"


def next_path(directory: Path, name: str) -> Path:
    """``NNNN_name.json`` with the next free number."""
    numbers = [int(parts["number"]) for path in run_files(directory) if (parts := _NUMBERED.fullmatch(path.stem))]
    return directory / f"{max(numbers, default=0) + 1:04d}_{name}.json"
