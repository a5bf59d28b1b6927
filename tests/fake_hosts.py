"""GPU hosts that are not there, as data: what a step costs on them, what NVML says, and what goes wrong.

The numbers are made up; only their order is that of the real cards: a T4 is slow and hits its 70 W, an A100 is fast and
pays for it when it has little to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Costs = Mapping[str, Mapping[str, float]]

_CPU: Costs = {
    "cpu": {"fixed": 2e-4, "per_timestep": 2e-5, "per_sample": 1e-5, "first_call": 0.3, "bytes_fixed": 2e7},
    "cpu xla": {"per_timestep": 8e-6, "first_call": 0.9},
}
T4_COSTS: Costs = {
    **_CPU,
    "gpu": {"fixed": 5e-4, "per_timestep": 1e-5, "per_sample": 1e-6, "first_call": 2.0, "bytes_fixed": 2e8},
    "gpu loop": {"per_timestep": 3e-4},
}
A100_COSTS: Costs = {
    **_CPU,
    "gpu": {"fixed": 4e-4, "per_timestep": 5e-6, "per_sample": 1e-7, "first_call": 2.0, "bytes_fixed": 4e8},
    "gpu loop": {"per_timestep": 2e-4},
}
T4 = {"name": "Tesla T4", "bytes": 15 * 2**30, "watts": 68.0, "watts_limit": 70.0, "sm_clock_mhz": 1005, "celsius": 74}
A100 = {
    "name": "NVIDIA A100-SXM4-40GB", "bytes": 40 * 2**30, "watts": 210.0, "watts_limit": 400.0, "sm_clock_mhz": 1410,
    "celsius": 45,
}  # fmt: skip
#: NVML's bits
POWER_CAP, THERMAL, POWER_BRAKE = 0x4, 0x40, 0x80


@dataclass(frozen=True)
class Host:
    """``nvml`` goes to :mod:`tests.fake_nvml`, ``script`` to :mod:`tests.fake_worker`."""

    costs: Costs
    nvml: Mapping[str, Any]
    script: Mapping[str, Any] = field(default_factory=dict)

    def broken(self, *, nvml: Mapping[str, Any] | None = None, **script: Any) -> Host:
        """This host with a fault."""
        return Host(self.costs, {**self.nvml, **(nvml or {})}, {**self.script, **script})


T4_HOST = Host(T4_COSTS, {"cards": [{**T4, "throttle_reasons": POWER_CAP}]})
A100_HOST = Host(A100_COSTS, {"cards": [A100]})

#: What a host does that is broken, and what is said of it: exit status 1 in all of them.
FAULTS: dict[str, tuple[Host, tuple[str, ...]]] = {
    "silent fall-back to the loop": (
        A100_HOST.broken(cases={"forward[translation-b32-gpu-cudnn": {"kernel": "loop"}}),
        ("must run as kernel 'cudnn', but 'loop' ran", "19 measured, 1 failed"),
    ),
    "a gpu case on the cpu": (
        A100_HOST.broken(cases={"fit[translation-b32-gpu-cudnn": {"device": "cpu"}}),
        ("asks for device 'gpu', but 'cpu' executed it", "19 measured, 1 failed"),
    ),
    "throttled for good": (
        T4_HOST.broken(nvml={"changes": [{"from": 60, "throttle_reasons": THERMAL, "celsius": 96}]}),
        ("blocks of rounds in a row were void", "hardware thermal slowdown, 96 °C", "Let the GPU cool down"),
    ),
    "another process for good": (
        T4_HOST.broken(nvml={"changes": [{"from": 60, "processes": {"4242": 2**30}, "percents": {"4242": 70}}]}),
        ("another process used the GPU (pid 4242: 70 %)", "choose another one with --perf-gpu"),
    ),
    "out of memory": (
        T4_HOST.broken(cases={"fit[translation-b32-gpu-cudnn": {"fault": "memory", "fault_at": "open"}}),
        ("open ran out of memory: failed to allocate 12.00 GiB", "19 measured, 1 failed"),
    ),
    "a case that hangs": (
        A100_HOST.broken(cases={"backward[translation-b32-gpu-cudnn": {"fault": "hang", "fault_at": "run"}}),
        ("did not answer 'run' within the time limit of 3 s", "19 measured, 1 failed"),
    ),
    "the driver is lost in the middle": (
        A100_HOST.broken(nvml={"changes": [{"from": 60, "error": "GPU is lost"}]}),
        ("NVML does not answer for the GPU GPU-0 any more (GPU is lost)", "The kernel's log says why (Xid)"),
    ),
}
