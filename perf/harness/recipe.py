"""All that decides what a built environment is, and the versions that come of it."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from perf.harness.environment import Side
from perf.harness.frameworks import framework_of
from perf.harness.installed import installed
from perf.harness.named import named
from perf.harness.spec import Spec
from perf.harness.uv_commands import Uv, UvFailed
from perf.harness.wanted import COMPUTE, Wanted, asks_for_legacy_keras, hold_most, wanted

#: Raised when environments are made in another way, so that none of before is reused.
_FORM = 1


@dataclass(frozen=True, slots=True)
class Recipe:
    """``python`` is what uv is told, an interpreter or a version; ``base`` all that makes it another one. ``named``
    maps package to requirement, ``texts`` are all that was asked, with what the files say."""

    spec: Spec
    python: str
    base: str
    named: Mapping[str, str]
    texts: tuple[str, ...]
    wanted: Wanted

    @property
    def name(self) -> str:
        """Of its folder: what a person recognises, then a digest of everything."""
        wanted = self.wanted
        where = (self.base, platform.system(), platform.machine())
        what = (self.spec.complete, self.texts, wanted.unnamed, sorted(wanted.holds.values()), wanted.without)
        digest = hashlib.sha256(json.dumps((_FORM, where, what)).encode()).hexdigest()
        first = "recorded" if self.spec.complete else next(iter(self.named.values()), f"python-{self.spec.python}")
        words = re.sub(r"[^A-Za-z0-9.]+", "-", first)
        return f"{words.strip('-')[:40]}-{digest[:16]}"


def recipe(spec: Spec, held: Mapping[str, str], python: str) -> Recipe:
    """``held`` are the other side's package versions, ``python`` its interpreter; see :func:`builds.side_for`."""
    asked = named(spec)
    if spec.complete:
        besides = Wanted((), {}, ())
    else:
        legacy, framework = asks_for_legacy_keras(spec.variables), framework_of(spec.variables)
        besides = wanted(asked.packages, held, legacy, framework)
    python = spec.interpreter or python
    found = installed(Side(python, {"PYTHONPATH": None}))
    base = f"{found.base} {found.python}"
    if spec.python and not f"{found.python}.".startswith(f"{spec.python}."):
        python, base = spec.python, f"python=={spec.python}"  # another than is at hand: uv finds it
    return Recipe(spec, python, base, asked.packages, asked.texts, besides)


def pins(asked: Recipe, folder: Path, uv: Uv, progress: Callable[[str], None]) -> str:
    """Pins for all packages, as a requirements file, with as much held at the other side's versions as goes together.

    ``folder`` is the empty environment, in which the files that uv is given are kept. Raises ``UvFailed``.
    """
    if asked.spec.complete:
        return _lines(asked.spec.requirements)
    requirements, constraints, overrides = (
        folder / f"{name}.txt" for name in ("requirements", "constraints", "overrides")
    )
    requirements.write_text(_lines([*asked.spec.requirements, *asked.wanted.unnamed]))
    overrides.write_text(_lines([f"{name}; python_version < '3'" for name in asked.wanted.without]))
    files = [requirements, *asked.spec.requirement_files]
    solution = ""

    def solvable(held: Sequence[str]) -> bool:
        nonlocal solution
        constraints.write_text(_lines(held))
        try:
            solution = uv.solve(folder, files, constraints, overrides)
        except UvFailed as failed:
            if failed.unsolvable and held:  # without any held, what was asked for is itself impossible
                return False
            raise
        return True

    holds = dict(asked.wanted.holds)
    if solvable(list(holds.values())):
        return solution
    progress(f"not all other packages can stay at the other side's versions; finding which: {asked.spec.words}")
    solvable([])
    kept: list[str] = []
    for name in [name for name in holds if name in COMPUTE]:
        hold = holds.pop(name)
        if not solvable([*kept, hold]):
            # What comes in its place stays: else a lesser package that is held drives it to any version there is.
            hold = next((line for line in solution.splitlines() if line.startswith(f"{name}==")), "")
        kept += [hold] if hold else []
    hold_most(list(holds), lambda names: solvable([*kept, *(holds[name] for name in names)]))
    return solution


def _lines(lines: Sequence[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
