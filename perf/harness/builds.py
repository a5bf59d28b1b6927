"""From what was asked for to a side that workers can run on: environments are built once with uv and kept."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from perf.harness.environment import Side
from perf.harness.environment_cache import (
    cache_folder,
    folder_to_build,
    mark_used,
    only_builder,
    read_record,
    write_record,
)
from perf.harness.errors import Refusal
from perf.harness.frameworks import TENSORFLOW, by_canonical_name, framework_of
from perf.harness.installed import Installed, installed, why_no_worker
from perf.harness.recipe import Recipe, pins, recipe
from perf.harness.spec import Spec
from perf.harness.uv_commands import Uv, UvFailed
from perf.harness.wanted import NOT_HELD

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BuiltSide:
    """``released``: what could not be held at the other side's version, as ``keras 3.15.1 -> 2.15.0``. ``cached``:
    nothing was built. ``packages``: what is installed, by name."""

    side: Side
    released: tuple[str, ...]
    cached: bool
    packages: Mapping[str, str]


def sides(against: Spec, candidate: Spec, progress: Progress) -> tuple[BuiltSide, BuiltSide]:
    """The two sides of a comparison, each held at the other's versions where it is built; see :func:`side_for`.

    Where both are built, the candidate is held at the environment in which pytest runs, and the baseline at that.
    """
    if candidate.needs_build and not against.needs_build:
        baseline = side_for(against, {}, progress)
        return baseline, side_for(candidate, baseline.packages, progress, baseline.side.interpreter)
    here = installed(Side()).packages if candidate.needs_build else {}
    measured = side_for(candidate, here, progress)
    return side_for(against, measured.packages, progress, measured.side.interpreter), measured


def side_for(spec: Spec, held: Mapping[str, str], progress: Progress, python: str = sys.executable) -> BuiltSide:
    """Makes the side that ``spec`` describes, or finds it in the cache.

    ``held`` are the other side's package versions by name, ``python`` its interpreter: both are kept where ``spec``
    says nothing else. ``progress`` is told, in a few words, what is being waited for. Raises :class:`Refusal` with
    uv's own message where the environment cannot be built, and where no worker could run in it; then nothing of it
    remains.
    """
    if not spec.needs_build:
        side = Side(spec.interpreter or sys.executable, spec.variables)
        return BuiltSide(side, (), True, _checked(spec, side).packages)
    asked = recipe(spec, held, python)
    place = cache_folder() / asked.name
    try:
        if (built := _reused(asked, place)) is not None:
            return built
        with only_builder(
            place.parent, lambda: progress("waiting for another session that builds environments")
        ) as lock:
            if (built := _reused(asked, place)) is not None:
                return built
            return _build(asked, place, held, progress, Uv(lock))
    except OSError as error:
        raise Refusal(
            f"The environment {spec.words!r} could not be built in {place.parent}: {error.strerror or error}. Make "
            "room there, or name another folder with the variable LSTM_PERF_CACHE. Nothing was measured."
        ) from error


def _reused(asked: Recipe, place: Path) -> BuiltSide | None:
    """The environment if it is there and still what it was when it was built."""
    record = read_record(place)
    if record is None:
        return None
    try:
        found = _contents(asked.spec, place)
    except Refusal:  # the interpreter that it was made from is gone
        return None
    if found.packages != record.get("packages"):
        return None
    mark_used(place)
    return BuiltSide(_side(place, asked.spec), tuple(record.get("released", ())), True, found.packages)


def _build(asked: Recipe, place: Path, held: Mapping[str, str], progress: Progress, uv: Uv) -> BuiltSide:
    spec = asked.spec
    start = time.monotonic()
    with folder_to_build(place) as folder:
        try:
            progress(f"building an environment: {spec.words}")
            uv.venv(folder, asked.python)
            pinned = pins(asked, folder, uv, progress)
            (folder / "pinned.txt").write_text(pinned)
            progress(f"installing {len(pinned.splitlines())} packages: {spec.words}")
            uv.install(folder, folder / "pinned.txt")
        except UvFailed as failed:
            raise Refusal(
                f"The environment {spec.words!r} could not be built: {failed.message}\nNothing was measured, and "
                "nothing half-built was kept."
            ) from failed
        found = _contents(spec, folder)
        released = () if spec.complete else _released(asked.named, held, found.packages)
        write_record(folder, {"asked": spec.words, "released": released, "packages": dict(found.packages)})
    progress(f"built in {time.monotonic() - start:.0f} s: {spec.words}")
    return BuiltSide(_side(place, spec), released, False, found.packages)


def _released(named: Mapping[str, str], held: Mapping[str, str], found: Mapping[str, str]) -> tuple[str, ...]:
    """The packages that were not named and yet differ from the other side's."""
    # What is held from version control shows its number alone; a local build of that number is another thing.
    before = {name: version.partition(" @ ")[0] for name, version in by_canonical_name(held).items()}
    after = by_canonical_name(found)
    return tuple(
        f"{name} {before[name]} -> {after[name]}"
        for name in sorted((before.keys() & after.keys()) - named.keys() - set(NOT_HELD))
        if before[name] != after[name]
    )


def _checked(spec: Spec, side: Side) -> Installed:
    """What is installed on the side; raises :class:`Refusal` where no worker can run on it."""
    framework = framework_of(spec.variables)
    found = installed(side, framework)
    if reason := why_no_worker(found, framework):
        where = f"The environment {spec.words!r}" if spec.needs_build else side.interpreter
        example = "tensorflow==2.20.0" if framework is TENSORFLOW else " ".join((framework.name, *framework.beside))
        raise Refusal(
            f"{where} {reason}: no worker can run there. Install or name {framework.title}, for example {example}. "
            "Nothing was measured."
        )
    return found


def _contents(spec: Spec, folder: Path) -> Installed:
    """What was installed into a built environment, whatever else the caller has on the path."""
    return _checked(spec, Side(_interpreter(folder), {"PYTHONPATH": None}))


def _side(folder: Path, spec: Spec) -> Side:
    return Side(_interpreter(folder), spec.variables)


def _interpreter(folder: Path) -> str:
    return str(folder / "bin" / "python")
