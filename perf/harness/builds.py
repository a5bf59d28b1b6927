"""From what was asked for to a side that workers can run on: environments are built once with uv and kept."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perf.harness.environment import Side
from perf.harness.environment_cache import cache_folder, folder_to_build, only_builder, read_record, write_record
from perf.harness.errors import Refusal
from perf.harness.installed import Installed, by_canonical_name, installed, why_no_worker
from perf.harness.named import named
from perf.harness.spec import Spec
from perf.harness.uv_commands import Uv, UvFailed
from perf.harness.wanted import NOT_HELD, Wanted, asks_for_legacy_keras, hold_most, wanted

#: Raised when environments are made in another way, so that none of before is reused.
_FORM = 1

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BuiltSide:
    """``released``: what could not be held at the other side's version, as ``keras 3.15.1 -> 2.15.0``. ``cached``:
    nothing was built. ``packages``: what is installed, by name."""

    side: Side
    released: tuple[str, ...]
    cached: bool
    packages: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Recipe:
    """All that decides what a built environment is."""

    spec: Spec
    python: str  # for uv: an interpreter or a version
    base: str  # the same, with all that makes it another one
    named: Mapping[str, str]
    texts: tuple[str, ...]
    wanted: Wanted

    @property
    def name(self) -> str:
        """Of its folder: readable, then a digest of everything."""
        holds = sorted(self.wanted.holds.values())
        parts = [
            _FORM,
            self.spec.complete,
            self.base,
            platform.system(),
            platform.machine(),
            self.texts,
            self.wanted.unnamed,
            holds,
        ]
        digest = hashlib.sha256(json.dumps([*parts, self.wanted.without]).encode()).hexdigest()
        words = re.sub(r"[^A-Za-z0-9.]+", "-", next(iter(self.named.values()), f"python-{self.spec.python}"))
        return f"{words.strip('-')[:40]}-{digest[:16]}"


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
    recipe = _recipe(spec, held, python)
    place = cache_folder() / recipe.name
    try:
        if (built := _reused(recipe, place)) is not None:
            return built
        with only_builder(
            place.parent, lambda: progress("waiting for another session that builds environments")
        ) as lock:
            if (built := _reused(recipe, place)) is not None:
                return built
            return _build(recipe, place, held, progress, Uv(lock))
    except OSError as error:
        raise Refusal(
            f"The environment {spec.words!r} could not be built in {place.parent}: {error.strerror or error}. Make "
            "room there, or name another folder with the variable LSTM_PERF_CACHE. Nothing was measured."
        ) from error


def _recipe(spec: Spec, held: Mapping[str, str], python: str) -> _Recipe:
    asked = named(spec)
    if spec.complete:
        besides = Wanted((), {}, ())
    else:
        besides = wanted(asked.packages, held, asks_for_legacy_keras(spec.variables))
    chosen = spec.interpreter or python
    found = installed(Side(chosen, spec.variables))
    if spec.python and not f"{found.python}.".startswith(f"{spec.python}."):
        return _Recipe(spec, spec.python, f"python=={spec.python}", asked.packages, asked.texts, besides)
    return _Recipe(spec, chosen, f"{found.base} {found.python}", asked.packages, asked.texts, besides)


def _reused(recipe: _Recipe, place: Path) -> BuiltSide | None:
    """The environment if it is there and still what it was when it was built."""
    record = read_record(place)
    if record is None:
        return None
    side = _side(place, recipe.spec)
    try:
        found = _checked(recipe.spec, side)
    except Refusal:  # the interpreter that it was made from is gone
        return None
    if found.packages != record.get("packages"):
        return None
    return BuiltSide(side, tuple(record.get("released", ())), True, found.packages)


def _build(recipe: _Recipe, place: Path, held: Mapping[str, str], progress: Progress, uv: Uv) -> BuiltSide:
    spec = recipe.spec
    start = time.monotonic()
    with folder_to_build(place) as folder:
        try:
            progress(f"building an environment: {spec.words}")
            uv.venv(folder, recipe.python)
            pins = _lines(spec.requirements) if spec.complete else _solve(recipe, folder, uv, progress)
            (folder / "pinned.txt").write_text(pins)
            progress(f"installing {len(pins.splitlines())} packages: {spec.words}")
            uv.install(folder, folder / "pinned.txt")
        except UvFailed as failed:
            raise Refusal(
                f"The environment {spec.words!r} could not be built: {failed.message}\nNothing was measured, and "
                "nothing half-built was kept."
            ) from failed
        found = _checked(spec, _side(folder, spec))
        released = () if spec.complete else _released(recipe.named, held, found.packages)
        write_record(folder, {"asked": spec.words, "released": released, "packages": dict(found.packages)})
    progress(f"built in {time.monotonic() - start:.0f} s: {spec.words}")
    return BuiltSide(_side(place, spec), released, False, found.packages)


def _solve(recipe: _Recipe, folder: Path, uv: Uv, progress: Progress) -> str:
    """Pins for all packages, with as much held at the other side's versions as goes together."""
    asked, constraints, overrides = (folder / f"{name}.txt" for name in ("asked", "constraints", "overrides"))
    asked.write_text(_lines([*recipe.spec.requirements, *recipe.wanted.unnamed]))
    overrides.write_text(_lines([f"{name}; python_version < '3'" for name in recipe.wanted.without]))
    holds = recipe.wanted.holds
    files = [asked, *recipe.spec.requirement_files]
    pinned = ""

    def solvable(names: Sequence[str]) -> bool:
        nonlocal pinned
        constraints.write_text(_lines([holds[name] for name in names]))
        try:
            pinned = uv.solve(folder, files, constraints, overrides)
        except UvFailed as failed:
            if failed.unsolvable and names:  # without any held, what was asked for is itself impossible
                return False
            raise
        return True

    if not solvable(list(holds)):
        progress(f"not all other packages can stay at the other side's versions; finding which: {recipe.spec.words}")
        solvable([])
        hold_most(list(holds), solvable)
    return pinned


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
    found = installed(side)
    if reason := why_no_worker(found):
        where = f"The environment {spec.words!r}" if spec.needs_build else side.interpreter
        raise Refusal(
            f"{where} {reason}: no worker can run there. Install or name a TensorFlow, for example "
            "tensorflow==2.20.0. Nothing was measured."
        )
    return found


def _side(folder: Path, spec: Spec) -> Side:
    return Side(str(folder / "bin" / "python"), spec.variables)


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
