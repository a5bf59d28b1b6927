"""What the harness asks of a suite, and what it gets: plain values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perf.harness.expectation_records import Expectation
from perf.harness.records import CaseSpec

#: From the smallest to the largest, each holding the one before.
PROFILES = ("smoke", "nightly", "full")
#: No part of these: what the suite takes for granted about GPUs (:mod:`perf.harness.gpu_check`).
GPU_CHECK = "gpu-check"
BUILT_IN = "built-in"


@dataclass(frozen=True, slots=True)
class SuiteRequest:
    """Which cases are wanted: of a profile, on the devices there are, of a user's workload file if one was given.

    ``expectations``: a user's own file of them. ``frameworks``: on what Keras runs, as ``KERAS_BACKEND`` spells it: in
    what is measured, and where it is measured against another environment, in that.
    """

    profile: str
    devices: tuple[str, ...]
    workloads: Path | None = None
    paired: bool = False  # measured on two sides, several times over: smoke is smaller then
    expectations: Path | None = None
    frameworks: tuple[str, ...] = ("tensorflow",)


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of a profile on this host and where their worker is.

    ``root`` is put on the worker's import path, ``worker`` is the module there whose ``serve(channel)`` speaks the
    protocol. ``name`` says which workloads these are: a baseline case of another suite is not missed in this one.
    ``margins_percent`` overrides ``--perf-margin`` by case key.
    ``selection`` has the settings whose kernels the worker finds by tracing (:mod:`perf.harness.selection`), one test
    each: by id, what the worker is sent with it; ``selection_absent`` says why there are none.
    ``expectations`` have one test each too; ``contenders`` are their cases by key.
    """

    root: Path
    specs: tuple[CaseSpec, ...]
    baselines: Path
    name: str = BUILT_IN
    worker: str = "lstm_models.worker"
    margins_percent: Mapping[str, float] = field(default_factory=dict)
    selection: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    selection_absent: str = ""
    expectations: tuple[Expectation, ...] = ()
    contenders: Mapping[str, CaseSpec] = field(default_factory=dict)
