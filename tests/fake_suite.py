"""A suite of fake cases: what a pytester project's root conftest hands to the harness.

``suite.json`` in the project lists ``path/workload`` names (each one case), those that only ``nightly`` holds, cases
that cannot exist, and whether the real expectations and the real cases of the profile are in it.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from lstm_models import workloads
from lstm_models.words import Device
from perf import cases, expectations, profiles
from perf.harness.records import CaseSpec
from perf.harness.suite import GPU_CHECK, Suite, SuiteRequest

#: Workloads whose traced kernels are held against those that ran.
TRACED: dict[str, dict[str, object]] = {"workload:layer-128": {}, "workload:layer-128-relu": {}}
CHECKOUT = Path(__file__).resolve().parent.parent


def case(name: str, device: str = "cpu", **changes: object) -> CaseSpec:
    """``forward/alpha`` -> the spec of ``forward[alpha-b1-cpu-loop-float32]``."""
    path, workload = name.split("/")
    id = f"{workload}-b1-{device}-loop-float32"
    payload = {"key": f"{path}[{id}]", "kernel": "loop", "device": device, "steps_per_call": 1, "keeps_calls": False}
    fields: dict[str, object] = {
        "key": payload["key"],
        "id": id,
        "path": path,
        "workload": workload,
        "batch": 1,
        "device": device,
        "kernel": "loop",
        "precision": "float32",
        "hash": hashlib.sha256(name.encode()).hexdigest()[:16],
        "steps_per_call": 1,
        "keeps_calls": False,
        "expects_kernel": "loop",
        "payload": payload,
    }
    return CaseSpec(**{**fields, **changes})  # type: ignore[arg-type]


def suite(request: SuiteRequest, project: Path) -> Suite:
    """Reads ``suite.json`` of the project."""
    listed = json.loads((project / "suite.json").read_text())
    names = listed["cases"] + (listed["nightly"] if request.profile != "smoke" else [])
    specs = [case(name, device) for device in request.devices for name in names]
    specs += [case(name, skip=reason) for name, reason in listed.get("skipped", {}).items()]
    if listed.get("real", False):
        devices = tuple(Device(device) for device in request.devices)
        found = profiles.cases(request.profile, workloads.builtin(), devices, paired=request.paired)
        specs += [cases.spec(case) for case in found]
    host = expectations.Host(request.devices, frozenset())
    real = listed.get("expectations", False)
    expected, contenders = (
        expectations.of_suite(request.expectations, workloads.builtin(), host, own=False, profile=request.profile)
        if real
        else ((), ())
    )
    return Suite(
        root=CHECKOUT,
        specs=tuple(specs),
        baselines=project / "perf" / "baselines",
        name=request.workloads.name if request.workloads else "built-in",
        worker="tests.fake_worker",
        selection={"default": {}, "dropout": {}, **(TRACED if request.profile == GPU_CHECK else {})},
        expectations=expected,
        contenders={contender.key: cases.spec(contender) for contender in contenders},
    )
