"""What should beat what: the expectations of ``expectations.toml`` and of a user's file, as the harness takes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File

from lstm_models import availability, kernels, workloads
from lstm_models.case import BATCHES_PER_CALL, Case
from lstm_models.words import Framework
from lstm_models.workloads import Workload
from perf import expectation_file
from perf.expectation_file import Contestant, Promise
from perf.harness.errors import Refusal
from perf.harness.expectation_records import Axis, Contender, Expectation
from perf.harness.suite import PROFILES

BUILT_IN = File(__file__).with_name("expectations.toml")


@dataclass(frozen=True, slots=True)
class Host:
    """What decides which expectations can be measured here. ``has_keras_2``: the package tf-keras is installed."""

    devices: tuple[str, ...]
    cpu_flags: frozenset[str]
    framework: Framework = Framework.TENSORFLOW
    has_keras_2: bool = True


def of_suite(
    file: File | None, available: Mapping[str, Workload], host: Host, *, own: bool, profile: str = PROFILES[-1]
) -> tuple[tuple[Expectation, ...], tuple[Case, ...]]:
    """The built-in expectations and those of a user's ``file``, and their cases, each once.

    ``own`` says that the ``available`` workloads are a user's: the built-in expectations are of others and stay away,
    as do those of a larger ``profile`` and those that are not promised on the host's framework.
    Raises :class:`Refusal` for a file that is not as it must be, or takes a name that is taken.
    """
    if profile not in PROFILES:
        return (), ()  # what is checked there is no expectation
    promises = expectation_file.read(BUILT_IN)
    taken = {promise.id for promise in promises}
    profiles = PROFILES[: PROFILES.index(profile) + 1]
    asked = [promise for promise in promises if not own and _asked(promise, profiles, host)]
    made = [_made(promise, BUILT_IN, available, host) for promise in asked]
    if file is not None:
        promises = expectation_file.read(file)
        if again := [promise.id for promise in promises if promise.id in taken]:
            raise Refusal(f"{file}: [expectation.{again[0]}]: there is a built-in expectation of this name.")
        both = {**workloads.builtin(), **available}
        made += [_made(promise, file, both, host) for promise in promises if _asked(promise, profiles, host)]
    cases = {case.key: case for _, cases in made for case in cases}
    return tuple(expectation for expectation, _ in made), tuple(cases.values())


def _asked(promise: Promise, profiles: Sequence[str], host: Host) -> bool:
    """Whether it is made in this profile, and on this framework: by its own word, and by the kernels that there are."""
    exist = kernels.EXIST[host.framework]
    return (
        promise.profile in profiles
        and host.framework in (promise.frameworks or tuple(Framework))
        and promise.first.kernel in exist
        and promise.second.kernel in exist
    )


def _made(
    promise: Promise, file: File, available: Mapping[str, Workload], host: Host
) -> tuple[Expectation, list[Case]]:
    of_first, of_second = (
        {size: replace(_case(promise, side, size, available, file), framework=host.framework) for size in promise.sizes}
        for side in (promise.first, promise.second)
    )
    cases = [*of_first.values(), *of_second.values()]
    first_label, second_label = _labels(promise.first, promise.second)
    names = dict.fromkeys(by_size[promise.sizes[0]].workload.name for by_size in (of_first, of_second))
    expectation = Expectation(
        # Ratios of one framework say nothing of another's.
        id=promise.id if host.framework is Framework.TENSORFLOW else f"{promise.id}-{host.framework}",
        kind=promise.kind,
        metric=promise.metric,
        axis=promise.axis,
        workload=", ".join(names) if promise.axis is Axis.BATCH else promise.workload,
        path=", ".join(dict.fromkeys(str(case.path) for case in cases)),
        first=_contender(first_label, promise.first, of_first),
        second=_contender(second_label, promise.second, of_second),
        sizes=promise.sizes,
        where=promise.where,
        at=promise.at,
        ratio=promise.ratio,
        reason=promise.reason,
        source=promise.source,
        skip=_skip(promise, cases, host),
    )
    return expectation, cases


def _contender(label: str, side: Contestant, cases: Mapping[int, Case]) -> Contender:
    keys = {size: case.key for size, case in cases.items()}
    return Contender(label, str(side.device), keys, dict(side.variables))


def _case(promise: Promise, side: Contestant, size: int, available: Mapping[str, Workload], file: File) -> Case:
    """The case that stands for a side at one size."""
    name = side.workload or promise.workload
    if name not in available:
        raise Refusal(f"{file}: [expectation.{promise.id}]: no workload {name!r}; there are: {', '.join(available)}.")
    sizes = {**promise.fixed, promise.axis: size}
    batch = side.batch or sizes[Axis.BATCH]
    units, timesteps = side.units or sizes.get(Axis.UNITS), side.timesteps or sizes.get(Axis.TIMESTEPS)
    workload = available[name]
    if (units or timesteps) and workload.kind in ("builder", "saved"):
        raise Refusal(
            f"{file}: [expectation.{promise.id}]: {name} is a model of your own, whose units and timesteps cannot be "
            "changed from here; leave them out and compare several workloads instead."
        )
    return Case(
        side.path or promise.path,
        _variant(workload, units, timesteps),
        batch,
        side.device,
        side.kernel,
        side.precision,
        None if side.batches == BATCHES_PER_CALL else side.batches,
        inputs=side.inputs,
    )


def _variant(workload: Workload, units: int | None, timesteps: int | None) -> Workload:
    """The workload with other sizes under a name that says so; itself where nothing differs."""
    name = workload.name
    if units and units != workload.units:
        name += f"-u{units}"
    if timesteps and timesteps != workload.timesteps:
        name += f"-t{timesteps}"
    if name == workload.name:
        return workload
    return replace(workload, name=name, units=units or workload.units, timesteps=timesteps or workload.timesteps)


def _labels(first: Contestant, second: Contestant) -> tuple[str, str]:
    """The kernel of each, and before it what else tells them apart; ``label`` where one is given."""

    def words(side: Contestant) -> dict[str, str]:
        return {
            "path": str(side.path or ""),
            "workload": side.workload or "",
            "batch": f"b{side.batch}" if side.batch else "",
            "batches": f"x{side.batches}" if side.batches else "",
            "units": f"u{side.units}" if side.units else "",
            "timesteps": f"t{side.timesteps}" if side.timesteps else "",
            "device": str(side.device),
            "precision": str(side.precision),
            "inputs": f"{side.inputs} inputs",
            "variables": " ".join(f"{name}={value}" for name, value in side.variables.items()),
        }

    a, b = words(first), words(second)
    differ = [name for name in a if a[name] != b[name]]

    def label(side: Contestant, own: Mapping[str, str]) -> str:
        return side.label or " ".join(word for word in (*(own[name] for name in differ), str(side.kernel)) if word)

    return label(first, a), label(second, b)


def _skip(promise: Promise, cases: Iterable[Case], host: Host) -> str | None:
    """Why it cannot be measured on this host; ``None`` if it can."""
    for case in cases:
        if why := availability.unavailable(case):
            return why
    for device in dict.fromkeys(str(side.device) for side in (promise.first, promise.second)):
        if device not in host.devices:
            return f"no {device} is measured here"
    if not host.has_keras_2 and any(_asks_for_keras_2(side) for side in (promise.first, promise.second)):
        return "Keras 2 is not installed here: install the extra legacy, pip install -e '.[legacy]'"
    if has := [flag for flag in promise.unless_cpu_has if flag in host.cpu_flags]:
        return f"this CPU has {', '.join(has)}"
    return None


def _asks_for_keras_2(side: Contestant) -> bool:
    """As TensorFlow reads the variable."""
    return side.variables.get("TF_USE_LEGACY_KERAS") in ("true", "True", "1")
