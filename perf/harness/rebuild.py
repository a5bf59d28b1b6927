"""Brings back the environment that a baseline was measured in (docs/method.md, "Stored", step 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import InvalidVersion, Version

from perf.harness.builds import BuiltSide, Progress, side_for
from perf.harness.errors import Refusal
from perf.harness.frameworks import FRAMEWORKS, TENSORFLOW, by_canonical_name, distribution_of
from perf.harness.records import Environment
from perf.harness.spec import Spec
from perf.harness.uv_commands import has_python
from perf.harness.wanted import COMPUTE

#: Not brought back: this suite is on every worker's path as a checkout, and an environment made by uv has no pip.
NOT_REBUILT = ("lstm-perf", "pip")
#: What computes besides :data:`perf.harness.wanted.COMPUTE`: without exactly these it is another environment.
_COMPUTES_PREFIXES = ("nvidia-", "tensorflow-", "jax", "torch")


def spec_of(recorded: Environment, variables_now: Mapping[str, str]) -> Spec:
    """What describes the recorded environment.

    ``variables_now`` are those that workers run with now (their ``describe``): what was not recorded is unset.
    Packages that no index has are left out, see :func:`left_out`.
    """
    requirements = [
        requirement
        for name, version in sorted(by_canonical_name(recorded.packages).items())
        if name not in NOT_REBUILT and (requirement := _requirement(name, version)) is not None
    ]
    unset: dict[str, str | None] = dict.fromkeys(variables_now)
    if (framework := recorded.settings.get("keras_backend", TENSORFLOW.name)) != TENSORFLOW.name:
        unset["KERAS_BACKEND"] = framework  # it may have been said by Keras's configuration file
    return Spec(
        requirements=tuple(requirements),
        python=recorded.versions["python"],
        variables={**unset, **recorded.variables},
        complete=True,
    )


def rebuild(recorded: Environment, variables_now: Mapping[str, str], progress: Progress) -> BuiltSide:
    """Makes the recorded environment, or finds it in the cache.

    Another patch release of the same Python stands in where the recorded one is not installed; ``released`` of the
    result then says so, and names what was left out. Raises :class:`Refusal` where it cannot be made.
    """
    if reason := why_not_rebuildable(recorded):
        raise Refusal(f"The environment of the baseline cannot be rebuilt: {reason}.")
    spec = spec_of(recorded, variables_now)
    python = recorded.versions["python"]
    notes = tuple(f"{package} -> left out, no index has it" for package in left_out(recorded))
    if not has_python(python):
        minor = ".".join(python.split(".")[:2])
        spec = replace(spec, python=minor)
        notes = (f"python {python} -> another {minor}", *notes)
    built = side_for(spec, {}, progress)
    return replace(built, released=(*notes, *built.released))


def why_not_rebuildable(recorded: Environment) -> str:
    """Why the environment cannot be brought back, as a clause for a message; "" where nothing known is against it.

    To be said when a baseline is saved. Whether an index still has all versions shows only when it is tried.
    """
    if "python" not in recorded.versions:
        return "the version of its Python was not recorded"
    framework = FRAMEWORKS.get(recorded.settings.get("keras_backend", ""), TENSORFLOW)
    if distribution_of(framework, recorded.packages) is None:
        return f"its {framework.title} is not among the packages that were recorded, so no index is known to have it"
    private = [package for package in _private(recorded) if _computes(package.split()[0])]
    if private:
        return f"no index has {', '.join(private)}"
    return ""


def left_out(recorded: Environment) -> tuple[str, ...]:
    """Packages with versions that are not brought back because no index has them: they came from a folder of their
    own or carry a local version, and compute nothing themselves. Something that needs one fails by its name."""
    return tuple(package for package in _private(recorded) if not _computes(package.split()[0]))


def environment_notes(recorded: Environment) -> tuple[str, ...]:
    """What is to be known of an environment when its times are saved, for the day on which it has to be rebuilt."""
    if reason := why_not_rebuildable(recorded):
        return (
            f"this environment cannot be rebuilt: {reason}. Where later runs look slower than this one, the stored "
            "numbers alone will decide, and they cannot tell the framework from the machine.",
        )
    missing = left_out(recorded)
    return (f"when this environment is rebuilt, it lacks what no index has: {', '.join(missing)}.",) if missing else ()


def _private(recorded: Environment) -> list[str]:
    return [
        f"{name} {version}"
        for name, version in sorted(by_canonical_name(recorded.packages).items())
        if name not in NOT_REBUILT and _requirement(name, version) is None
    ]


def _requirement(name: str, version: str) -> str | None:
    """What brings the package back, ``None`` where nothing known does; see ``lstm_models.describe`` for the forms."""
    number, _, origin = version.partition(" ")
    try:
        if origin.startswith("@ "):
            return str(Requirement(f"{name} {origin}"))
        return None if origin or Version(number).local else f"{name}=={number}"
    except (InvalidRequirement, InvalidVersion):
        return None


def _computes(name: str) -> bool:
    return name in COMPUTE or name.startswith(_COMPUTES_PREFIXES)
