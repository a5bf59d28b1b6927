"""What a trend needs of each stored run, kept beside the runs so that hundreds of them are read in seconds.

The file ``runs.digest`` (no ``.json``: neither this suite nor pytest-benchmark takes it for a run) holds a line with
its form and the checksum of all that follows, a line of the works (case key and hash) that the runs share, and a line
for each run. It is never trusted over the runs: a run whose size or time of change is another is read again, and a
digest that is damaged, or of another form, is made anew from the runs.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from perf.harness.errors import Refusal
from perf.harness.records import CaseResult, Run
from perf.harness.runs import read_run, run_files
from perf.harness.stats import interval_over_processes
from perf.harness.storing import write_text_whole

NAME = "runs.digest"
#: Form of the digest; one of another form is made anew. Raise it where a value comes to mean something else.
SCHEMA = 1
_DIGITS = 5


@dataclass(frozen=True, slots=True)
class CaseDigest:
    """A case that a run measured: median over processes of seconds per step with its 95 % interval, the kernels that
    ran, the hash of its definition, and whether its test failed."""

    seconds_per_step: float
    seconds_low: float | None
    seconds_high: float | None
    kernel: str
    hash: str
    red: bool


@dataclass(frozen=True, slots=True)
class RunDigest:
    """``versions`` by device of the workers, then by name."""

    name: str
    date: datetime
    versions: Mapping[str, Mapping[str, str]]
    cases: Mapping[str, CaseDigest]


@dataclass(frozen=True, slots=True)
class Digests:
    """Of the runs in a folder that were wanted, by file name. ``read`` files had to be read themselves; of the others
    the digest was kept."""

    runs: Mapping[str, RunDigest]
    read: int
    warnings: tuple[str, ...]


def digest_of(run: Run) -> RunDigest:
    """Cases without a sample (failed, not measured) are left out."""
    cases = {key: _case(result, key in run.red) for key, result in run.cases.items() if result.samples}
    versions = {device: environment.versions for device, environment in run.environments.items()}
    return RunDigest(run.name, run.date, versions, cases)


def digests(directory: Path, wanted: Collection[str] | None = None) -> Digests:
    """Reads what is new or changed in ``directory`` and brings the digest there up to date; ``wanted`` are names of
    files, None: all.

    A run that cannot be read is left out, and a warning says why; so does one where the digest could not be written.
    """
    path = directory / NAME
    known = _load(path)
    found: dict[str, RunDigest] = {}
    stamps: dict[str, tuple[int, int]] = {}
    warnings = []
    read = 0
    for file in run_files(directory):
        stamp = _stamp(file)
        kept = known.get(file.name)
        if kept is not None and kept[0] == stamp:
            found[file.name] = kept[1]
        elif wanted is not None and file.name not in wanted:
            continue
        else:
            read += 1
            try:
                found[file.name] = digest_of(read_run(file))
            except Refusal as refusal:
                warnings.append(f"left out of the history: {refusal}")
                continue
        stamps[file.name] = stamp
    if read or known.keys() != found.keys():
        try:
            write_text_whole(path, _text(found, stamps))
        except OSError as error:
            warnings.append(
                f"{path} could not be written ({error.strerror or error}): the next report will be as slow."
            )
    shown = {name: run for name, run in found.items() if wanted is None or name in wanted}
    return Digests(shown, read, tuple(warnings))


def _case(result: CaseResult, red: bool) -> CaseDigest:
    over = interval_over_processes([sample.seconds_per_step for sample in result.samples])
    kernels = dict.fromkeys(sample.facts.kernel for sample in result.samples)
    # Rounded here already, so that a page from the runs is like every later one from their digest.
    low, high = (None if end is None else _short(end) for end in (over.low, over.high))
    return CaseDigest(_short(over.value), low, high, " ".join(kernels), result.spec.hash, red)


def _stamp(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def _load(path: Path) -> dict[str, tuple[tuple[int, int], RunDigest]]:
    """By file name, with the size and time of change of the file that it was made from; empty where it is not whole."""
    try:
        head, _, rest = path.read_bytes().partition(b"\n")
        if json.loads(head) != _head(rest):
            return {}
        first, *lines = rest.splitlines()
        works = [(key, hash_) for key, hash_ in json.loads(first)["works"]]
        entries = [json.loads(line) for line in lines]
        return {entry["file"]: ((entry["size"], entry["mtime_ns"]), _decode(entry, works)) for entry in entries}
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return {}  # there is none yet, or it was cut or changed: all it says stands in the runs


def _head(rest: bytes) -> dict[str, Any]:
    return {"schema": SCHEMA, "sha256": hashlib.sha256(rest).hexdigest()}


def _text(found: Mapping[str, RunDigest], stamps: Mapping[str, tuple[int, int]]) -> str:
    works: dict[tuple[str, str], int] = {}
    lines = []
    for file, run in found.items():
        size, mtime_ns = stamps[file]
        lines.append(_line({"file": file, "size": size, "mtime_ns": mtime_ns, **_encode(run, works)}))
    rest = "\n".join([_line({"works": [list(work) for work in works]}), *lines]) + "\n"
    return f"{_line(_head(rest.encode()))}\n{rest}"


def _line(value: Any) -> str:
    # Escaped, so that no character in a name is a line break to anybody.
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _encode(run: RunDigest, works: dict[tuple[str, str], int]) -> dict[str, Any]:
    """Columns; a work is its place in ``works``, which grows."""
    cases = list(run.cases.items())
    return {
        "name": run.name,
        "date": run.date.isoformat(),
        "versions": {device: dict(versions) for device, versions in run.versions.items()},
        "work": [works.setdefault((key, case.hash), len(works)) for key, case in cases],
        "kernel": [case.kernel for _, case in cases],
        "seconds": [case.seconds_per_step for _, case in cases],
        "low": [case.seconds_low for _, case in cases],
        "high": [case.seconds_high for _, case in cases],
        "red": [case.red for _, case in cases],
    }


def _decode(entry: Mapping[str, Any], works: Sequence[tuple[str, str]]) -> RunDigest:
    names = ("work", "kernel", "seconds", "low", "high", "red")
    columns: Iterable[tuple[int, str, float, float | None, float | None, bool]]
    columns = zip(*(entry[name] for name in names), strict=True)
    cases = {}
    for work, kernel, seconds, low, high, red in columns:
        key, hash_ = works[work]
        cases[key] = CaseDigest(seconds, low, high, kernel, hash_, red)
    return RunDigest(entry["name"], datetime.fromisoformat(entry["date"]), entry["versions"], cases)


def _short(seconds: float) -> float:
    return float(f"{seconds:.{_DIGITS}g}")
