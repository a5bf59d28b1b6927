"""Which machine this is: what must match before stored times are compared, and what else is worth knowing."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import socket
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType

from perf.harness.gpus import Chosen, Gpu, gpus
from perf.harness.nvml import pynvml
from perf.harness.records import Machine

#: Stands for a field that one of two machines does not have.
ABSENT = "absent"
#: Informing field: UUID of the GPU that was used.
GPU_USED = "gpu used"


@dataclass(frozen=True)
class Host:
    """Where the facts about the host are read; tests put a folder and values of their own here."""

    root: Path = Path("/")
    system: str = field(default_factory=platform.system)
    release: str = field(default_factory=platform.release)
    processor: str = field(default_factory=lambda: platform.processor() or platform.machine())
    name: str = field(default_factory=socket.gethostname)
    cores: Callable[[], int] = field(default_factory=lambda: _usable_cores)

    def text(self, path: str) -> str:
        """The file's text without surrounding blanks; "" where it cannot be read."""
        try:
            return (self.root / path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return ""


def _usable_cores() -> int:
    """Logical cores this process may run on: the affinity mask counts, not what the board has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def fingerprint(host: Host | None = None, nvml: ModuleType | None = pynvml) -> Machine:
    """This machine: its identity (CPU model, usable cores, GPUs), what else was seen of it, and an id made of it.

    The CPU's family, model and stepping belong to the identity, because virtual machines hide the name.
    """
    host = host or Host()
    found = gpus(nvml)
    cpu = _cpu(host)
    identity = {"cpu": cpu, "cores": str(host.cores()), "gpu": _gpu_text(found)}
    digest = hashlib.sha256("\n".join(f"{key}={identity[key]}" for key in sorted(identity)).encode()).hexdigest()
    gpu_slug = _slug(identity["gpu"]) if found else "nogpu"
    name = f"{_slug(host.system)}-{_slug(cpu)}-{identity['cores']}cores-{gpu_slug}-{digest[:8]}"
    return Machine(identity=identity, informs=_informs(host, found), id=name)


def _cpu(host: Host) -> str:
    """E.g. ``AMD EPYC 7B13 (family 25, model 1, stepping 0)``."""
    facts: dict[str, str] = {}
    for line in host.text("proc/cpuinfo").splitlines():
        key, colon, value = line.partition(":")
        if colon:
            facts.setdefault(key.strip(), value.strip())  # the first core speaks for all
    name = facts.get("model name", "") or host.processor
    name = " ".join(re.sub(r"\((R|TM|C)\)|\bCPU\b|\bProcessor\b|@.*$", " ", name, flags=re.IGNORECASE).split())
    numbers = [
        f"{word} {facts[key]}"
        for word, key in (
            ("family", "cpu family"),
            ("model", "model"),
            ("stepping", "stepping"),
            ("implementer", "CPU implementer"),  # Arm gives no name at all
            ("part", "CPU part"),
            ("variant", "CPU variant"),
            ("revision", "CPU revision"),
        )
        if key in facts
    ]
    return " ".join([*name.split(), f"({', '.join(numbers)})"] if numbers else [name or "unknown"])


def _gpu_text(found: tuple[Gpu, ...]) -> str:
    """E.g. ``NVIDIA H200 140 GiB 700 W`` or ``2 x NVIDIA L4 22 GiB 72 W``; "none" without a GPU.

    A lower power limit and a slice of a GPU (MIG) are other hardware as far as times are concerned. The rest that NVML
    tells only informs: a driver is what gets upgraded, and persistence and PCIe explain start-up and transfers.
    """
    counted = Counter(_one_gpu(gpu) for gpu in found)
    return ", ".join(f"{count} x {text}" if count > 1 else text for text, count in sorted(counted.items())) or "none"


def _one_gpu(gpu: Gpu) -> str:
    limit = "" if gpu.watts_limit is None else f" {gpu.watts_limit:.0f} W"
    return f"{gpu.name} {round(gpu.bytes / 2**30)} GiB{limit}{' MIG' if gpu.mig == 'on' else ''}"


def using(machine: Machine, chosen: Chosen | None) -> Machine:
    """``machine`` with the GPU that is used of it, which the next session takes again."""
    return machine if chosen is None else replace(machine, informs={**machine.informs, GPU_USED: chosen.gpu.uuid})


def _slug(text: str) -> str:
    """Readable and safe as a part of a file name, at most 40 characters."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    # The words between the numbers carry nothing: "(family 26, model 2, stepping 1)" is 26-2-1.
    return "-".join(word for word in words if word not in ("family", "model", "stepping"))[:40].strip("-") or "unknown"


def _informs(host: Host, found: tuple[Gpu, ...]) -> dict[str, str]:
    """What explains a difference but does not forbid a comparison; fields that cannot be read are left out."""
    memory = re.search(r"MemTotal:\s*(\d+) kB", host.text("proc/meminfo"))
    system = re.search(r'^PRETTY_NAME="?([^"\n]*)', host.text("etc/os-release"), re.MULTILINE)
    microcode = re.search(r"^microcode\s*:\s*(\S+)", host.text("proc/cpuinfo"), re.MULTILINE)
    no_turbo = host.text("sys/devices/system/cpu/intel_pstate/no_turbo")
    facts = {
        "host name": host.name,
        "system": system[1] if system else host.system,
        "kernel": host.release,
        "memory": f"{int(memory[1]) / 2**20:.1f} GiB" if memory else "",
        "hypervisor": _hypervisor(host),
        "governor": host.text("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "turbo": {"0": "on", "1": "off"}.get(no_turbo, ""),
        "hyper-threading": host.text("sys/devices/system/cpu/smt/control"),
        "microcode": microcode[1] if microcode else "",
        "huge pages": host.text("sys/kernel/mm/transparent_hugepage/enabled"),
        "cpu quota": _cpu_quota(host),
        "gpu driver": _each(found, "driver"),
        "gpu mig": _each(found, "mig"),
        "gpu persistence mode": _each(found, "persistence"),
        "gpu pcie": _each(found, "pcie"),
    }
    return {key: value for key, value in facts.items() if value}


def _each(found: tuple[Gpu, ...], name: str) -> str:
    """What the GPUs have there, each text once."""
    return "; ".join(sorted({value for gpu in found if (value := str(getattr(gpu, name)))}))


def cpu_flags(host: Host | None = None) -> frozenset[str]:
    """The instruction sets of this CPU, as Linux names them (``avx512_bf16``, on Arm ``bf16``); empty elsewhere."""
    found = re.search(r"^(?:flags|Features)\s*:(.*)", (host or Host()).text("proc/cpuinfo"), re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()


def _hypervisor(host: Host) -> str:
    """Who made the (virtual) board, else whether there is a hypervisor at all."""
    maker = " ".join(host.text(f"sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")).strip()
    virtual = re.search(r"^flags\s*:.*\bhypervisor\b", host.text("proc/cpuinfo"), re.MULTILINE)
    return (f"{maker} (virtual)" if maker else "yes") if virtual else maker


def _cpu_quota(host: Host) -> str:
    """Cores that a container may use by time; "" where there is no limit."""
    quota, _, period = host.text("sys/fs/cgroup/cpu.max").partition(" ")
    if not quota.isdigit() or not period.isdigit():
        return ""
    return f"{int(quota) / int(period):g} cores"


def differing(a: Mapping[str, str], b: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The fields in which two identities (or informing facts, versions ...) differ: (field, in a, in b)."""
    return [
        (key, a.get(key, ABSENT), b.get(key, ABSENT))
        for key in dict.fromkeys((*a, *b))
        if a.get(key, ABSENT) != b.get(key, ABSENT)
    ]
