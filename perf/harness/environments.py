"""The built environments that are kept: what there is, how large, when last used, and removing what nobody uses."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tabulate import tabulate

from perf.harness.environment_cache import last_used, only_builder, read_record
from perf.harness.errors import Refusal

_MIB = 2**20


@dataclass(frozen=True, slots=True)
class Kept:
    """One environment: what was ``asked`` for, when it was last ``used``, and the ``size`` of its folder in bytes.

    Files that uv shares with its own cache or with other environments are a part of that.
    """

    folder: Path
    asked: str
    used: datetime
    size: int


def table(cache: Path) -> str:
    """What there is, the longest unused first."""
    kept = sorted(_kept(cache), key=lambda one: one.used)
    if not kept:
        return f"There is no built environment in {cache}."
    rows = [(one.asked, f"{one.used:%Y-%m-%d %H:%M}", f"{one.size / _MIB:.0f}", one.folder.name) for one in kept]
    headers = ("environment", "last used (UTC)", "MiB", "folder")
    return f"{tabulate(rows, headers, disable_numparse=True)}\n\n{len(rows)} in {cache}"


def remove_unused(cache: Path, days: int, now: datetime) -> str:
    """Removes what was not used for so many days; waits for a session that builds one.

    Raises :class:`Refusal` where a folder cannot be removed; those before it are gone.
    """
    if not cache.is_dir():
        return f"There is no built environment in {cache}."
    with only_builder(cache, lambda: None):
        old = [one for one in _kept(cache) if now - one.used >= timedelta(days=days)]
        for one in old:
            try:
                shutil.rmtree(one.folder)
            except OSError as error:
                raise Refusal(f"{one.folder} could not be removed: {error.strerror or error}.") from None
    freed = sum(one.size for one in old) / _MIB
    names = f": {', '.join(one.asked for one in old)}" if old else ""
    return f"{len(old)} removed, {freed:.0f} MiB{names}. {len(list(_kept(cache)))} left in {cache}."


def _kept(cache: Path) -> Iterator[Kept]:
    for folder in cache.iterdir() if cache.is_dir() else ():
        if (record := read_record(folder)) is not None:
            files = (file.lstat() for file in folder.rglob("*"))
            yield Kept(
                folder,
                str(record.get("asked", folder.name)),
                datetime.fromtimestamp(last_used(folder), UTC),
                sum(status.st_size for status in files),
            )
