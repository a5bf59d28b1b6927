"""Read a file of expectations: TOML tables in, checked promises out; whatever is wrong is refused by name."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path as File
from typing import Any, TypeVar

from lstm_models.words import Device, Framework, Inputs, Kernel, Path, Precision
from perf.harness.crossover import BAND
from perf.harness.errors import Refusal
from perf.harness.expectation_records import Axis, Kind, Where
from perf.harness.paired_evidence import Metric
from perf.harness.suite import PROFILES

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
#: What the harness sets itself for each worker.
_HARNESS_OWN = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
_REQUIRED = ("kind", "workload", "path", "first", "second", "batch", "reason", "source")


@dataclass(frozen=True, slots=True)
class Contestant:
    """One side of a promise; ``None``: as the promise says. ``variables`` are set in its workers only."""

    kernel: Kernel
    device: Device = Device.CPU
    precision: Precision = Precision.FLOAT32
    inputs: Inputs = Inputs.DEVICE
    path: Path | None = None
    workload: str | None = None
    batch: int | None = None
    batches: int | None = None  # of one call of fit or evaluate
    units: int | None = None
    timesteps: int | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    label: str = ""


@dataclass(frozen=True, slots=True)
class Promise:
    """An expectation as it is written down. ``sizes`` run along ``axis``; ``fixed`` are the other axes that are given.

    ``unless_cpu_has``: it is promised for CPUs without any of these instruction sets. ``profile``: the smallest that it
    is measured in. ``frameworks``: on which it is promised, all that have its kernels where it is empty.
    """

    id: str
    kind: Kind
    workload: str
    path: Path
    first: Contestant
    second: Contestant
    axis: Axis
    sizes: tuple[int, ...]
    fixed: Mapping[Axis, int]
    reason: str
    source: str
    metric: Metric = Metric.STEP
    where: Where = Where.EVERYWHERE
    at: int | None = None
    ratio: float = 1.0
    unless_cpu_has: tuple[str, ...] = ()
    profile: str = PROFILES[0]
    frameworks: tuple[Framework, ...] = ()


def read(file: File) -> tuple[Promise, ...]:
    """The promises in ``file``, in their order. Raises :class:`Refusal` naming file, table and key."""
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Refusal(f"{file}: the file of expectations cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Refusal(f"{file}: not valid TOML: {error}. Write [expectation.NAME] tables.") from None
    others = [key for key in content if key != "expectation"]
    tables = content.get("expectation")
    if others or not isinstance(tables, dict) or not tables:
        found = f"found {', '.join(others)}" if others else "found none"
        raise Refusal(f"{file}: a file of expectations holds [expectation.NAME] tables and nothing else; {found}.")
    return tuple(_promise(f"{file}: [expectation.{name}]", name, table) for name, table in tables.items())


def _promise(where: str, name: str, table: Any) -> Promise:
    if not _NAME.fullmatch(name):
        raise Refusal(f"{where}: a name is made of lower case letters a-z, digits and -, e.g. cudnn-beats-cpu.")
    found = _table(where, table, _KEYS, _REQUIRED)
    given = {axis: found.pop(str(axis)) for axis in Axis if str(axis) in found}
    lists = [axis for axis, sizes in given.items() if len(sizes) > 1]
    if len(lists) > 1:
        raise Refusal(f"{where}: {lists[0]} and {lists[1]} are both lists; an expectation has one axis.")
    axis = lists[0] if lists else Axis.BATCH
    promise = Promise(
        name,
        axis=axis,
        sizes=given[axis],
        fixed={each: size[0] for each, size in given.items() if each != axis},
        **found,
    )
    if problem := _conflict(promise):
        raise Refusal(f"{where}: {problem}")
    return promise


def _conflict(promise: Promise) -> str:
    """What does not fit together among keys that are each allowed, as a sentence; empty if all fits."""
    sided = promise.where is not Where.EVERYWHERE
    if promise.kind is Kind.CROSSOVER and (not sided or len(promise.sizes) < 2):
        return f'a crossover needs where = "above" or "below", and a list of sizes, e.g. {promise.axis} = [1, 8, 64].'
    if promise.kind is not Kind.CROSSOVER and (sided or promise.at is not None):
        return f'where and at belong to kind = "crossover"; a promise of kind "{promise.kind}" is made for all sizes.'
    if promise.kind is Kind.OBSERVED and promise.ratio != 1:
        return 'kind = "observed" promises nothing, so it takes no ratio.'
    if promise.kind is Kind.NARROWING and len(promise.sizes) < 2:
        return f"a narrowing lead needs a list of sizes, e.g. {promise.axis} = [1, 64]."
    if promise.kind in (Kind.EQUAL, Kind.NARROWING) and promise.ratio <= 1:
        return f'kind = "{promise.kind}" needs a ratio above 1, e.g. ratio = 1.2.'
    if promise.first == promise.second:
        return "first and second are the same, and nothing can be expected of that."
    for side in (promise.first, promise.second):
        path = side.path or promise.path
        if side.batches is not None and path not in (Path.FIT, Path.EVALUATE):
            return f"batches are those of one call of fit or evaluate, and a side's path is {path}."
    at = promise.at
    if at is None:
        return ""
    reached = promise.sizes[-1] >= BAND * at if promise.where is Where.ABOVE else promise.sizes[0] <= at / BAND
    if reached:
        return ""
    needed = f"{BAND * at:g} or more" if promise.where is Where.ABOVE else f"{at / BAND:g} or less"
    return (
        f"{promise.where} {promise.axis} {at} is asserted outside a band of a factor {BAND:g} only, so the sizes must "
        f"reach {needed}; they are {', '.join(map(str, promise.sizes))}."
    )


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Key:
    """``read`` turns what TOML gave into the record's value, or raises ``ValueError``; ``allowed`` says it in words."""

    read: Callable[[Any], Any]
    allowed: str


def _word(words: Any) -> _Key:
    def read(value: Any) -> Any:
        if not isinstance(value, str):
            raise ValueError(value)
        return words(value)

    return _Key(read, _one_of(words))


def _one_of(words: Iterable[str]) -> str:
    return "one of " + ", ".join(f'"{word}"' for word in words)


def _checked(kind: type[_T] | tuple[type, ...], allowed: str, fits: Callable[[Any], bool]) -> _Key:
    def read(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, kind) or not fits(value):
            raise ValueError(value)
        return value

    return _Key(read, allowed)


def _sizes(value: Any) -> tuple[int, ...]:
    sizes = tuple(value) if isinstance(value, list) else (value,)
    whole = all(type(size) is int and size > 0 for size in sizes)
    if not sizes or not whole or list(sizes) != sorted(set(sizes)):
        raise ValueError(value)
    return sizes


def _flags(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(flag, str) and flag for flag in value):
        raise ValueError(value)
    return tuple(value)


def _variables(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not value:
        raise ValueError(value)
    for name, text in value.items():
        if not _VARIABLE.fullmatch(name) or name in _HARNESS_OWN or not isinstance(text, str):
            raise ValueError(value)
    return value


def _frameworks(value: Any) -> tuple[Framework, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(value)
    return tuple(Framework(name) for name in value)


_TEXT = _checked(str, "a text that is not empty", lambda text: bool(text.strip()))
_WHOLE = _checked(int, "a whole number, 1 or more", lambda number: number >= 1)
_SIZES = _Key(_sizes, "a whole number or an ascending list of them, e.g. [1, 8, 64]")
_CONTESTANT_KEYS: Mapping[str, _Key] = {
    "kernel": _word(Kernel),
    "device": _word(Device),
    "precision": _word(Precision),
    "inputs": _word(Inputs),
    "path": _word(Path),
    "workload": _TEXT,
    "batch": _WHOLE,
    "batches": _WHOLE,
    "units": _WHOLE,
    "timesteps": _WHOLE,
    "variables": _Key(
        _variables, f"a table of environment variables and texts, e.g. {{OMP_NUM_THREADS = \"1\"}}, without "
        f"{' and '.join(_HARNESS_OWN)}, which the harness sets"
    ),
    "label": _TEXT,
}  # fmt: skip
_KEYS: Mapping[str, _Key] = {
    "kind": _word(Kind),
    "metric": _word(Metric),
    "workload": _TEXT,
    "path": _word(Path),
    "first": _Key(lambda value: value, "a table such as {device = \"gpu\", kernel = \"cudnn\"}"),
    "second": _Key(lambda value: value, "a table such as {device = \"cpu\", kernel = \"loop\"}"),
    "batch": _SIZES,
    "units": _SIZES,
    "timesteps": _SIZES,
    "where": _word(Where),
    "at": _WHOLE,
    "ratio": _checked((int, float), "a number from 1 to below 1000", lambda number: 1 <= number < 1000),
    "profile": _checked(str, _one_of(PROFILES), lambda text: text in PROFILES),
    "unless_cpu_has": _Key(_flags, "a list of the CPU flags in /proc/cpuinfo, e.g. [\"avx512_bf16\"]"),
    "frameworks": _Key(_frameworks, f"a list of {', '.join(Framework)}"),
    "reason": _TEXT,
    "source": _TEXT,
}  # fmt: skip


def _table(where: str, table: Any, keys: Mapping[str, _Key], required: tuple[str, ...]) -> dict[str, Any]:
    """One table, checked key by key."""
    if not isinstance(table, dict):
        raise Refusal(f"{where}: write a table of keys: {', '.join(keys)}.")
    found: dict[str, Any] = {}
    for key, value in table.items():
        if key not in keys:
            raise Refusal(f"{where}: no key {key!r}; the keys are: {', '.join(keys)}.")
        try:
            found[key] = keys[key].read(value)
        except ValueError:
            raise Refusal(f"{where}: {key} = {value!r} is not allowed; {key} is {keys[key].allowed}.") from None
        if key in ("first", "second"):
            found[key] = Contestant(**_table(f"{where}: {key}", value, _CONTESTANT_KEYS, ("kernel",)))
    if missing := [key for key in required if key not in found]:
        raise Refusal(f"{where}: the key {missing[0]} is missing; {', '.join(required)} must be there.")
    return found
