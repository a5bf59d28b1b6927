"""The suite, as the harness takes it: its cases, its expectations, and what else it knows of them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path as File
from typing import Any

from lstm_models import arithmetic, availability, kernels, workloads
from lstm_models.case import Case
from lstm_models.selection_places import GROUPS
from lstm_models.selection_workloads import setting_id
from lstm_models.words import Device, Framework, Inputs, Path
from lstm_models.workloads import Workload, WorkloadError
from perf import expectations, profiles
from perf.harness.errors import Refusal
from perf.harness.machine import cpu_flags
from perf.harness.margins import load_margins
from perf.harness.records import CaseSpec, Work
from perf.harness.suite import BUILT_IN, Suite, SuiteRequest
from perf.harness.why.records import TRANSFER

HERE = File(__file__).parent

#: Why there is no table of kernels: where a framework asks for the device while it traces, nobody can answer for a GPU.
UNTRACED = "which kernels Keras would pick on a GPU host is not looked at: on {} it shows on a GPU host only"


def suite(request: SuiteRequest) -> Suite:
    """The suite that the root conftest hands to the harness.

    Raises :class:`Refusal` for a bad file of workloads or expectations, and where there is nothing to measure with.
    """
    if not request.paired:  # environments that are described are looked at where they are made
        _refuse_absent(request.frameworks[0])
    try:
        available = workloads.load(request.workloads) if request.workloads else workloads.builtin()
    except WorkloadError as error:
        raise Refusal(str(error)) from None
    devices = tuple(Device(device) for device in request.devices)
    own = request.workloads is not None
    framework = Framework(request.frameworks[0])
    found = profiles.cases(request.profile, available, devices, framework, own=own, paired=request.paired)
    specs = tuple(spec(case) for case in found)
    untraced = [name for name in dict.fromkeys(request.frameworks) if name == Framework.JAX]
    expected, contenders = expectations.of_suite(
        request.expectations,
        available,
        expectations.Host(
            request.devices, cpu_flags(), framework, has_keras_2=importlib.util.find_spec("tf_keras") is not None
        ),
        own=own,
        profile=request.profile,
    )
    return Suite(
        root=HERE.parent,
        specs=specs,
        baselines=HERE / "baselines",
        name=_name(request),
        margins_percent=load_margins(HERE / "margins.toml", [spec.key for spec in specs]),
        selection=selection(available) if not untraced else {},
        selection_absent=UNTRACED.format(" and ".join(untraced)) if untraced else "",
        expectations=expected,
        contenders={case.key: spec(case) for case in contenders},
    )


def _refuse_absent(framework: str) -> None:
    """Without importing it, so that the answer comes before the first worker."""
    missing = [module for module in (framework, "keras") if importlib.util.find_spec(module) is None]
    if missing:
        raise Refusal(
            f"There is no {' and no '.join(missing)} in the environment of {sys.executable}, and Keras is to run on "
            f"{framework} here. Install it: python -m pip install -e '.[{framework}]', or set KERAS_BACKEND to what "
            f"is installed ({', '.join(Framework)}). Nothing was measured."
        )


def _name(request: SuiteRequest) -> str:
    """Of the workloads, and of the framework where it is not Keras's default: its cases are others' by name."""
    name = request.workloads.name if request.workloads else BUILT_IN
    framework = request.frameworks[0]
    return name if framework == Framework.TENSORFLOW else f"{name} on {framework}"


def selection(available: Mapping[str, Workload]) -> dict[str, dict[str, Any]]:
    """The settings whose kernels are found by tracing: those of a layer, and each workload's model as it is."""
    models = {setting_id(name): workload.to_plain() for name, workload in available.items()}
    return {**{group: {} for group in GROUPS}, **models}


def spec(case: Case) -> CaseSpec:
    """The case as plain values, which is all that the harness sees of it."""
    return CaseSpec(
        key=case.key,
        id=case.id,
        path=str(case.path),
        workload=case.workload.name,
        batch=case.batch,
        device=str(case.device),
        kernel=str(case.kernel),
        precision=str(case.precision),
        hash=case.hash,
        steps_per_call=case.steps_per_call,
        keeps_calls=case.keeps_calls,
        expects_kernel=kernels.expected(case),
        payload=case.to_plain(),
        skip=availability.unavailable(case),
        work=work(case),
    )


def work(case: Case) -> Work:
    """What the case asks for, in the words that people use for it."""
    workload = case.workload
    network = f"{workload.layers} x {workload.units} units" if workload.units else workload.name
    traits = {
        "path": str(case.path),
        "network size": network + (", both ways" if workload.bidirectional else ""),
        "sequence length": str(workload.timesteps),
        "batch": str(case.batch),
        "data set size": f"{case.steps_per_call} batches a call",
        "device": str(case.device),
        "kernel": str(case.kernel),
        "precision": str(case.precision),
    }
    if case.path not in (Path.FIT, Path.EVALUATE):
        del traits["data set size"]  # follows from the path and the batch
    if case.inputs is Inputs.HOST:
        traits[TRANSFER] = "inputs on the host"
    return Work(
        traits=traits,
        peak=str(case.precision).replace("mixed_", ""),
        flops_per_sample=arithmetic.flops_per_sample(case),
        input_bytes_per_sample=arithmetic.input_bytes_per_sample(case),
    )
