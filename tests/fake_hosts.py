"""GPU hosts that are not there, as data: what a step costs on them, what NVML says, and what goes wrong.

The numbers are made up; only their order is that of the real cards: a T4 is slow and hits its 70 W, an A100 is fast and
pays for it when it has little to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


#: An A100 on which all that is taken for granted holds, as far as one command can tell.
SOUND_HOST = Host(
    {
        **A100_COSTS,
        "gpu": {**A100_COSTS["gpu"], "bytes_per_sample": 1e6},
        "gpu host": {"fixed": 3e-3},
    },
    {"cards": [{**A100, "own_percent": 60}]},
    {
        "cases": {
            "-cpu-auto-": {"kernel": "loop"},
            "-gpu-auto-": {"kernel": "cudnn"},
            **{
                f"layer-128-{name}-b32-gpu-auto": {"kernel": "loop"}
                for name in ("recurrent-dropout", "relu", "no-bias")
            },
            "mask-left": {"fault": "exception", "fault_at": "open"},
        },
        "selection": {
            "workload:layer-128/model": "cudnn",
            "workload:layer-128-relu/model": "loop",
        },
        "environment": {"settings": {"tf32": "off"}},
    },
)

#: What is otherwise on a host, by the assumption that must say so, and what it says.
BROKEN_ASSUMPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "one-gpu-in-a-worker": (
        {"environment": {"settings": {"tf32": "off"}, "devices": ["CPU:0", "GPU:0 A", "GPU:1 B"]}},
        "a GPU worker sees GPU:0 A, GPU:1 B",
    ),
    "cudnn-in-the-graph": (
        {"cases": {"evaluate[layer-128-b32-gpu-cudnn": {"kernel": "loop"}}},
        "evaluate[layer-128-b32-gpu-cudnn-float32] ran as loop on gpu",
    ),
    "every-graph-collected": (
        {"cases": {"fit[layer-128-b32-gpu-xla": {"kernel": "unknown"}}},
        "unknown is the kernel of fit[layer-128-b32-gpu-xla-float32]",
    ),
    "products-on-the-gpu": (
        {"cases": {"forward[layer-128-b32-gpu-unrolled": {"device": "mixed: cpu 1, gpu 99"}}},
        "ran as unrolled on mixed: cpu 1, gpu 99",
    ),
    "xla-finds-its-tools": (
        {"cases": {"-gpu-xla-": {"fault": "exception", "fault_at": "open"}}},
        "open raised RuntimeError",
    ),
    "traced-is-run": (
        {"selection": {"workload:layer-128/model": "loop"}},
        "forward[layer-128-b32-gpu-auto-float32] was traced as loop and ran as cudnn",
    ),
    "auto-picks-cudnn": (
        {"cases": {"layer-128-relu-b32-gpu-auto": {"kernel": "cudnn"}}},
        "forward[layer-128-relu-b32-gpu-auto-float32] ran as cudnn",
    ),
    "masks-and-cudnn": ({"cases": {"mask-left": {"fault": None}}}, "opened, although its mask is at the start"),
    "cpu-kernel-beside-a-gpu": (
        {"cases": {"backward[layer-128-b32-cpu-loop": {"device": "gpu"}}},
        "backward[layer-128-b32-cpu-loop-float32] ran as loop on gpu",
    ),
    "float32-agrees": ({"environment": {"settings": {"tf32": "on"}}}, "the setting tf32 is on in a worker"),
    "half-precisions-agree": (
        {"cases": {"cudnn-mixed_float16": {"fault": "problem", "fault_at": "open"}}},
        "the outputs are 0.3 apart",
    ),
    "same-numbers-elsewhere": (
        {"cases": {"forward[layer-128-b32-gpu-cudnn-float32": {"process": 10, "probe": [1.1, -0.5]}}},
        "computed other numbers than the first process",
    ),
    "warm-up-pays": (
        {"cases": {"forward[layer-128-b32-gpu-cudnn-float32": {"process": 1, "first_call_seconds": 9.0}}},
        " s when it was opened first, ",
    ),
    "inputs-on-the-gpu": (
        {"cases": {"-float32-host": {"seconds_per_step": 1e-5}}},
        "arrays of the host cost -",
    ),
    "hidden-from-cpu-workers": (
        {"environment": {"settings": {"tf32": "off"}, "devices": ["CPU:0", "GPU:0 A"]}},
        "a CPU worker sees GPU:0 A",
    ),
    "loops-counted": (
        {"cases": {"backward[layer-128-b32-gpu-loop-float32": {"kernel": "mixed: loop 1, unrolled 1"}}},
        "ran as mixed: loop 1, unrolled 1 on gpu",
    ),
    "xla-seen": ({"cases": {"predict[layer-128-b32-gpu-xla": {"kernel": "loop"}}}, "ran as loop on gpu"),
    "xla-both-ways": ({"cases": {"sentiment-b1-gpu-xla": {"kernel": "loop"}}}, "ran as loop on gpu"),
    "time-limit-enough": (
        {"cases": {"-gpu-unrolled-": {"fault": "hang", "fault_at": "open"}}},
        "no answer within 3 s: forward[layer-128-b32-gpu-unrolled-float32]",
    ),
    "memory-counted": ({"cases": {"-b1024-": {"device_bytes_peak": 1000}}}, "0 MiB for the large one"),
    "memory-given-back": (
        {"cases": {"forward[layer-128-b32-gpu-cudnn-float32]": {"process": 8, "device_bytes_peak": None}}},
        "the peak is in doubt",
    ),
}
#: As above, by what NVML says: of the card, or from a reading on.
BROKEN_DRIVERS: dict[str, tuple[dict[str, Any], str]] = {
    "nvml-order-is-cudas": ({"own_listed": False}, "no process came to GPU-0 while a GPU worker computed"),
    "pids-are-ours": ({"own_listed": False}, "no process was listed while a worker held the GPU"),
    "utilisation-by-process": ({"own_percent": None}, "no process had a sample"),
    "throttling-shown": (
        {"changes": [{"from": 40, "every": 7, "throttle_reasons": POWER_BRAKE}]},
        "blocks of rounds were void",
    ),
}
#: Those that may be otherwise on one host, since none hides another.
BROKEN_TOGETHER = (
    (
        "cudnn-in-the-graph", "every-graph-collected", "products-on-the-gpu", "traced-is-run", "auto-picks-cudnn",
        "masks-and-cudnn", "cpu-kernel-beside-a-gpu", "loops-counted", "xla-seen", "xla-both-ways", "float32-agrees",
        "half-precisions-agree", "warm-up-pays", "memory-counted", "inputs-on-the-gpu",
    ),
    ("one-gpu-in-a-worker", "memory-given-back", "same-numbers-elsewhere"),
    ("hidden-from-cpu-workers", "xla-finds-its-tools"),
    ("time-limit-enough",),
    ("nvml-order-is-cudas", "pids-are-ours", "utilisation-by-process"),
    ("throttling-shown",),
)  # fmt: skip


def broken_together(ids: Iterable[str]) -> Host:
    """The sound host, but for what is otherwise for these assumptions."""
    script = dict(SOUND_HOST.script)
    (card,) = SOUND_HOST.nvml["cards"]
    changes: list[Any] = []
    for id in ids:
        for name, value in BROKEN_ASSUMPTIONS.get(id, ({}, ""))[0].items():
            script[name] = {**script.get(name, {}), **value}
        of_card = dict(BROKEN_DRIVERS.get(id, ({}, ""))[0])
        changes += of_card.pop("changes", [])
        card = {**card, **of_card}
    return Host(SOUND_HOST.costs, {"cards": [card], "changes": changes}, script)
