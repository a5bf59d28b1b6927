"""What an environment for workers is made of: what was named, and what a worker needs besides.

Packages that are not named are held at the other side's versions, so that one upgrade is not mixed with another.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement

from perf.harness.frameworks import FRAMEWORKS, TENSORFLOW, Framework, by_canonical_name, distribution_of

#: Of no use to a worker or without a meaning outside the environment they are in.
NOT_HELD = ("lstm-perf", "pip", "uv", "wheel")
#: What computes; held before all others where not everything can be, in this order.
COMPUTE = (
    *(name for framework in FRAMEWORKS.values() for name in framework.distributions),
    "jaxlib",
    "keras",
    "tf-keras",
    "numpy",
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """``unnamed`` are requirements besides the named ones. ``holds``: requirement by package that is to be kept if it
    can be, the most important first. ``without``: packages that nothing may pull in."""

    unnamed: tuple[str, ...]
    holds: Mapping[str, str]
    without: tuple[str, ...]


def wanted(
    named: Mapping[str, str], held: Mapping[str, str], legacy_keras: bool, framework: Framework = TENSORFLOW
) -> Wanted:
    """``named`` maps package to requirement, ``held`` package to the other side's version (its origin may follow, as
    a worker's ``describe`` writes it). ``legacy_keras``: Keras 2 is asked for, which is tf-keras since TensorFlow 2.16.
    ``framework``: what Keras is to run on; where the other side has another one, its newest release comes.
    """
    versions = by_canonical_name(held)
    unnamed = []
    flavour = next((name for name in framework.distributions if name in named), None)
    if flavour is None and (found := distribution_of(framework, versions)) is not None:
        flavour = found[0]
        unnamed.append(flavour)
    elif flavour is None and framework is not TENSORFLOW:
        unnamed.append(framework.distributions[0])
    if flavour == "tensorflow" and any(name.startswith("nvidia-cudnn") for name in versions):
        # The other side has the GPU libraries from packages: this one gets those of its TensorFlow.
        unnamed.append("tensorflow[and-cuda]")
    needed = {name for name in ("keras", "numpy") if name in versions} | {*framework.beside}
    unnamed += [name for name in ("keras", "numpy") if name in needed and name not in named]
    if legacy_keras and "tf-keras" not in named:
        unnamed.append(f"tf-keras{_same_minor(named.get(flavour or '', versions.get(flavour or '', '')))}")
    holds = {}
    order = sorted(versions, key=lambda name: (COMPUTE.index(name) if name in COMPUTE else len(COMPUTE), name))
    for name in order:
        if name not in named and name not in NOT_HELD and (hold := _hold(name, versions[name])):
            holds[name] = hold
    # tf-keras asks for "tensorflow" whatever the flavour, and two flavours overwrite each other's files.
    without = ("tensorflow",) if flavour not in (None, "tensorflow") and "tensorflow" not in named else ()
    return Wanted(tuple(unnamed), holds, without)


def asks_for_legacy_keras(variables: Mapping[str, str | None]) -> bool:
    """Whether a side with these variables makes ``tf.keras`` Keras 2, as TensorFlow reads it."""
    return {**os.environ, **variables}.get("TF_USE_LEGACY_KERAS") in ("true", "True", "1")


def hold_most(names: Sequence[str], solvable: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """The names that can be held together, each kept if it goes with all that were kept before it.

    Asks ``solvable`` about groups, halved where they fail, so that a few names in many cost few questions.
    """
    kept: list[str] = []

    def keep(group: Sequence[str], known_to_fail: bool) -> None:
        if not group:
            return
        if not known_to_fail and solvable([*kept, *group]):
            kept.extend(group)
        elif len(group) > 1:
            before = len(kept)
            middle = len(group) // 2
            keep(group[:middle], False)
            # Had the first half been kept whole, the second must hold what fails.
            keep(group[middle:], len(kept) - before == middle)

    keep(names, False)
    return tuple(kept)


def _hold(name: str, version: str) -> str:
    """The requirement that brings a version back, "" where none does."""
    number, _, origin = version.partition(" ")
    if origin.startswith("@ "):
        return f"{name} {origin}"
    text = f"{name}=={number}"
    try:
        Requirement(text)
    except InvalidRequirement:
        return ""
    return "" if origin else text


def _same_minor(version: str) -> str:
    """``==2.17.*`` for ``2.17.1`` or ``tensorflow==2.17.1``: tf-keras goes with the TensorFlow of its number."""
    found = re.search(r"(?:^|==\s*)(\d+\.\d+)", version)
    return f"=={found[1]}.*" if found else ""
