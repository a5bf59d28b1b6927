"""What was measured so far, on disk while it is measured: a killed session loses nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TextIO

from perf.harness.paired_codec import encode_pair
from perf.harness.paired_records import PairSample, SideName
from perf.harness.records import Failure, Machine, Sample

#: Of the journal's lines; a reader refuses a newer one.
SCHEMA = 1


class Journal:
    """An append-only file of JSON lines: a header, then one line for each sample (or pair of them) and each failure.

    A journal never stops a measurement: where a line cannot be written (a full disk), nothing more is, and
    ``warning`` says so.
    """

    def __init__(self, path: Path, file: TextIO | None, warning: str | None = None) -> None:
        self.path = path
        self.warning = warning
        self._file = file
        self._made = file is not None  # else there may be another journal under this path

    @classmethod
    def start(cls, path: Path, machine: Machine) -> Self:
        """Makes the file (and its folder) with its header. Never raises for a file that cannot be written."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            journal = cls(path, path.open("x", encoding="utf-8"))
        except OSError as error:
            return cls(path, None, _warning(path, error))
        journal._write({"schema": SCHEMA, "machine": machine.id, "date": datetime.now(UTC).isoformat()})
        return journal

    def sample(self, key: str, sample: Sample) -> None:
        """Appends what one process measured of one case."""
        self._write({"case": key, "sample": _plain(sample)})

    def pair(self, key: str, pair: PairSample) -> None:
        """Appends what one pair of processes measured of one case: the raw rounds of both sides."""
        self._write({"case": key, "pair": encode_pair(pair)})

    def together(self, process: int, samples: Mapping[str, Sample]) -> None:
        """Appends what one process measured of contenders whose rounds took turns, by case and lane."""
        self._write({"process": process, "together": _plain(samples)})

    def once(self, process: int, key: str, found: Any) -> None:
        """Appends what opening a case alone showed (:class:`perf.harness.expectation_sampling.Once`)."""
        self._write({"process": process, "case": key, "once": _plain(found)})

    def failure(self, key: str, failure: Failure, side: SideName | None = None) -> None:
        """Appends why a case has no sample; where two sides are measured, on which ``side`` it failed."""
        self._write({"case": key, "failure": _plain(failure), **({"side": side} if side else {})})

    def not_comparable(self, key: str, reason: str) -> None:
        """Appends what one of two sides cannot do."""
        self._write({"case": key, "not_comparable": reason})

    def close(self) -> None:
        """Ends writing and keeps the file."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                self.warning = self.warning or _warning(self.path, error)

    def discard(self) -> None:
        """Ends writing and deletes the file: its content is kept elsewhere now."""
        self.close()
        if self._made:
            try:
                self.path.unlink(missing_ok=True)
            except OSError as error:
                self.warning = self.warning or _warning(self.path, error)

    def _write(self, entry: Mapping[str, Any]) -> None:
        if self._file is None:
            return
        line = json.dumps(entry, allow_nan=False)
        try:
            self._file.write(line + "\n")
            self._file.flush()  # into the kernel: outlives this process, which is what gets killed
        except OSError as error:
            self.warning = _warning(self.path, error)
            self.close()


def _plain(value: Any) -> Any:
    """A record as builtins; any mapping will do, which :func:`dataclasses.asdict` does not take."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _warning(path: Path, error: OSError) -> str:
    return (
        f"The journal {path} could not be written ({error.strerror or error}). Measuring went on without it; were the "
        "session killed now, what it measured would be lost. Free the disk or choose another --benchmark-storage."
    )
