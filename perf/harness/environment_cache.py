"""Where built environments are kept: whole or not at all, one builder at a time."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perf.harness.errors import Refusal

_RECORD = "lstm-perf.json"
_BUILDING = ".building"


def cache_folder() -> Path:
    """``LSTM_PERF_CACHE``, or ``lstm-perf/environments`` in the user's cache folder."""
    if chosen := os.environ.get("LSTM_PERF_CACHE"):
        return Path(chosen).expanduser().absolute()
    # The specification of XDG_CACHE_HOME has relative paths ignored.
    for base in (os.environ.get("XDG_CACHE_HOME", ""), os.path.expanduser("~/.cache")):
        if os.path.isabs(base):
            return Path(base) / "lstm-perf" / "environments"
    raise Refusal(
        "There is no home folder to keep built environments in. Name a folder for them with the variable "
        "LSTM_PERF_CACHE. Nothing was measured."
    )


@contextlib.contextmanager
def only_builder(cache: Path, waits: Callable[[], None]) -> Iterator[int]:
    """Holds the cache's lock, for which it may wait (``waits`` is called before); yields the lock's descriptor.

    What builds that were killed left behind is removed: whoever holds the lock knows that nobody is building.
    """
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waits()
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in cache.glob(f"*{_BUILDING}"):
            shutil.rmtree(left, ignore_errors=True)
        yield lock.fileno()


@contextlib.contextmanager
def folder_to_build(place: Path) -> Iterator[Path]:
    """A folder beside ``place`` that takes its place when the block ends, and is removed when it fails."""
    building = place.with_name(place.name + _BUILDING)
    try:
        yield building
        if place.exists():
            shutil.rmtree(place)
        building.rename(place)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """What the environment is, kept in it."""
    (folder / _RECORD).write_text(json.dumps(record, indent=1))


def read_record(folder: Path) -> dict[str, Any] | None:
    """What :func:`write_record` kept; ``None`` where there is none."""
    try:
        record = json.loads((folder / _RECORD).read_text())
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def mark_used(folder: Path) -> None:
    """Notes that a session uses the environment now; nothing where its folder cannot be written to."""
    with contextlib.suppress(OSError):
        os.utime(folder / _RECORD)


def last_used(folder: Path) -> float:
    """When :func:`mark_used` was last called, or the environment was built: seconds since the epoch."""
    return (folder / _RECORD).stat().st_mtime
