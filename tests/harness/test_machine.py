# ruff: noqa: N802 - the fake driver has pynvml's names
import os
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from perf.harness import machine
from perf.harness.gpus import gpus, why_no_gpu
from perf.harness.machine import Host, differing, fingerprint

EPYC = """\
processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 26
model\t\t: 2
model name\t: AMD EPYC
stepping\t: 1
microcode\t: 0x1000065
flags\t\t: fpu vme hypervisor
processor\t: 1
stepping\t: 9
"""
XEON = """\
cpu family\t: 6
model\t\t: 85
model name\t: Intel(R) Xeon(R) CPU @ 2.20GHz
stepping\t: 7
flags\t\t: fpu vme
"""
ARM = "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n"


class FakeNvml:
    """As much of pynvml as is asked, with old versions' bytes."""

    class NVMLError(Exception):
        pass

    def __init__(self, cards: tuple[tuple[str, int], ...] = (), broken: str = "") -> None:
        self.cards = cards
        self.broken = broken
        self.open = 0

    def nvmlInit(self) -> None:
        if self.broken == "init":
            raise self.NVMLError("Driver Not Loaded")
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"570.1"

    def nvmlDeviceGetCount(self) -> int:
        return len(self.cards)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, handle: int) -> bytes:
        if self.broken == "lost":
            raise self.NVMLError("GPU is lost")
        return self.cards[handle][0].encode()

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> SimpleNamespace:
        return SimpleNamespace(total=self.cards[handle][1])

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}"


class TalkativeNvml(FakeNvml):
    """A newer one, that also tells what can be set and how the GPU is connected."""

    def __init__(self, watts: int = 72, mig: int = 0) -> None:
        super().__init__((("NVIDIA L4", 24 * 2**30),))
        self.watts = watts
        self.mig = mig

    def nvmlDeviceGetEnforcedPowerLimit(self, handle: int) -> int:
        return self.watts * 1000

    def nvmlDeviceGetMigMode(self, handle: int) -> list[int]:
        return [self.mig, 0]

    def nvmlDeviceGetPersistenceMode(self, handle: int) -> int:
        return 1

    def nvmlDeviceGetMaxPcieLinkGeneration(self, handle: int) -> int:
        return 4

    def nvmlDeviceGetCurrPcieLinkWidth(self, handle: int) -> int:
        return 16


H200 = FakeNvml((("NVIDIA H200", 150_754_820_096),))


def host(root: Path, cpuinfo: str = EPYC, cores: int = 2, **files: str) -> Host:
    (root / "proc").mkdir(exist_ok=True)
    (root / "proc/cpuinfo").write_text(cpuinfo)
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Host(root=root, system="Linux", release="6.1", processor="", name="alpha", cores=lambda: cores)


def test_identity_is_cpu_model_cores_and_gpus(tmp_path):
    found = fingerprint(host(tmp_path), H200)
    assert found.identity == {
        "cpu": "AMD EPYC (family 26, model 2, stepping 1)",
        "cores": "2",
        "gpu": "NVIDIA H200 140 GiB",
    }
    assert found.informs["gpu driver"] == "570.1"


def test_id_is_readable_and_a_file_name(tmp_path):
    assert re.fullmatch(r"linux-amd-epyc-26-2-1-2cores-nogpu-[0-9a-f]{8}", fingerprint(host(tmp_path), None).id)
    assert "-nvidia-h200-140-gib-" in fingerprint(host(tmp_path), H200).id


@pytest.mark.parametrize(
    ("cpuinfo", "cores", "nvml"),
    [(XEON, 2, None), (EPYC, 4, None), (EPYC, 2, H200), (EPYC.replace("model\t\t: 2", "model\t\t: 17"), 2, None)],
    ids=["cpu", "cores", "gpu", "cpu model behind the same name"],
)
def test_other_hardware_has_another_id(tmp_path, cpuinfo, cores, nvml):
    assert fingerprint(host(tmp_path, cpuinfo, cores), nvml).id != fingerprint(host(tmp_path), None).id


def test_what_only_informs_does_not_change_the_id(tmp_path):
    one = fingerprint(host(tmp_path), None)
    (tmp_path / "other").mkdir()
    other = fingerprint(Host(tmp_path, "Linux", "6.18", "", "beta", lambda: 2), None)
    assert one.id == other.id
    assert differing(one.informs, other.informs) == [("host name", "alpha", "beta"), ("kernel", "6.1", "6.18")]


def test_marketing_words_and_clock_are_left_out(tmp_path):
    assert fingerprint(host(tmp_path, XEON), None).identity["cpu"] == "Intel Xeon (family 6, model 85, stepping 7)"


def test_arm_without_a_name_is_known_by_its_numbers(tmp_path):
    cpu = fingerprint(host(tmp_path, ARM), None).identity["cpu"]
    assert cpu == "(implementer 0x41, part 0xd0c, variant 0x3, revision 1)"


def test_without_proc_the_platform_answers(tmp_path):
    mac = Host(tmp_path, "Darwin", "24.1", "arm", "mini", lambda: 10)
    found = fingerprint(mac, None)
    assert found.identity == {"cpu": "arm", "cores": "10", "gpu": "none"}
    assert found.id.startswith("darwin-arm-10cores-nogpu-")
    assert found.informs == {"host name": "mini", "system": "Darwin", "kernel": "24.1"}


def test_informing_facts(tmp_path):
    found = fingerprint(
        host(
            tmp_path,
            proc__meminfo="MemTotal:       24641340 kB\nMemFree: 1 kB\n",
            sys__devices__system__cpu__cpu0__cpufreq__scaling_governor="powersave\n",
            sys__devices__system__cpu__intel_pstate__no_turbo="1\n",
            sys__class__dmi__id__sys_vendor="QEMU\n",
        ),
        None,
    )
    assert found.informs["memory"] == "23.5 GiB"
    assert found.informs["governor"] == "powersave"
    assert found.informs["turbo"] == "off"
    assert found.informs["hypervisor"] == "QEMU (virtual)"
    assert found.informs["microcode"] == "0x1000065"
    assert "cpu quota" not in found.informs


@pytest.mark.parametrize(("text", "quota"), [("150000 100000", "1.5 cores"), ("max 100000", None)])
def test_cpu_quota_of_a_container(tmp_path, text, quota):
    one = host(tmp_path)
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text(text)
    assert fingerprint(one, None).informs.get("cpu quota") == quota


def test_a_power_limit_and_slices_must_match_and_the_rest_of_a_gpu_informs(tmp_path):
    found = fingerprint(host(tmp_path), TalkativeNvml())
    assert found.identity["gpu"] == "NVIDIA L4 24 GiB 72 W"
    assert {key: text for key, text in found.informs.items() if key.startswith("gpu")} == {
        "gpu driver": "570.1",
        "gpu mig": "off",
        "gpu persistence mode": "on",
        "gpu pcie": "generation 4, 16 lanes",
    }
    for other in (TalkativeNvml(watts=40), TalkativeNvml(mig=1)):
        assert fingerprint(host(tmp_path), other).id != found.id


def test_gpus_of_one_kind_are_counted(tmp_path):
    cards = FakeNvml((("NVIDIA L4", 24 * 2**30), ("NVIDIA T4", 15 * 2**30), ("NVIDIA L4", 24 * 2**30)))
    assert [gpu.index for gpu in gpus(cards)] == [0, 1, 2]
    assert [gpu.uuid for gpu in gpus(cards)] == ["GPU-0", "GPU-1", "GPU-2"]
    assert fingerprint(host(tmp_path), cards).identity["gpu"] == "2 x NVIDIA L4 24 GiB, NVIDIA T4 15 GiB"
    assert cards.open == 0
    assert why_no_gpu(cards) == ""


@pytest.mark.parametrize(
    ("nvml", "reason"),
    [
        (None, "nvidia-ml-py"),
        (FakeNvml(broken="init"), "no driver is installed"),
        (FakeNvml((("NVIDIA H200", 1),), broken="lost"), "GPU is lost"),
        (FakeNvml(), "lists no GPU"),
    ],
    ids=["no library", "no driver", "lost", "none"],
)
def test_why_there_is_no_gpu(nvml, reason):
    assert gpus(nvml) == ()
    assert reason in why_no_gpu(nvml)
    assert getattr(nvml, "open", 0) == 0


def test_differing_names_fields_of_either_side():
    assert differing({"cpu": "a", "cores": "2", "gpu": "x"}, {"cpu": "b", "cores": "2", "turbo": "on"}) == [
        ("cpu", "a", "b"),
        ("gpu", "x", "absent"),
        ("turbo", "absent", "on"),
    ]


def test_this_machine(monkeypatch):
    found = fingerprint()
    assert found == fingerprint()
    assert found.identity["cores"] == str(len(os.sched_getaffinity(0)))
    assert all(found.identity.values())
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2})
    assert fingerprint().identity["cores"] == "3"


def test_a_machine_that_cannot_ask_for_affinity_counts_cores(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    assert machine._usable_cores() == 7
