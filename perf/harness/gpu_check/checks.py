"""Every check of an assumption about finding a GPU, which kernel ran, and its numbers: evidence in, what was seen out.

A check returns what it saw where the assumption held, and raises :class:`NotHeld` or :class:`Unchecked` elsewhere. It
asks for cases by what they are and not by name, so that it holds for every framework whose suite has such cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from perf.harness.gpu_check.records import Evidence, NotHeld, Part, Unchecked
from perf.harness.gpu_reading import Reading
from perf.harness.records import CaseSpec
from perf.harness.replies import CaseError, check_same

Check = Callable[[Evidence], str]

#: Which part of the whole memory one of two processes may hold.
MOST_OF_MEMORY = 0.9
#: Workloads whose setting keeps Keras off cuDNN.
_OFF_CUDNN = ("recurrent-dropout", "relu", "no-bias")


def wanted(evidence: Evidence, what: str, **fields: str | int) -> list[CaseSpec]:
    """The cases with these fields that can exist; raises :class:`Unchecked` where the suite has none for this
    framework."""
    found = [spec for spec in evidence.find(**fields) if spec.skip is None]
    if not found:
        raise Unchecked(f"there is no case of {what} here: this framework has no such kernel, or it was not asked for")
    return found


def proved(evidence: Evidence, specs: Iterable[CaseSpec], kernel: str, device: str = "gpu") -> str:
    """Whether all were proved so; raises :class:`NotHeld` naming those that were not."""
    keys, wrong = [], []
    unseen: Unchecked | None = None
    for spec in specs:
        try:
            facts = evidence.facts(spec, part=Part.KERNELS if device == "gpu" else Part.CPU).facts
        except Unchecked as why:
            unseen = why
            continue
        except NotHeld as seen:
            wrong.append(str(seen))
            continue
        keys.append(spec.path)
        if (facts.kernel, facts.device) != (kernel, device):
            wrong.append(f"{spec.key} ran as {facts.kernel} on {facts.device}")
    if wrong:
        raise NotHeld("; ".join(wrong))
    if unseen is not None:
        raise unseen
    return f"{kernel} on {device}: {', '.join(dict.fromkeys(keys))}"


def listed(reading: Reading | None, part: Part, evidence: Evidence) -> set[int]:
    """Pids that NVML lists on the GPU."""
    if reading is None:
        raise evidence.missing(part)
    if reading.bytes_by_process is None:
        raise Unchecked("this driver lists no processes")
    return set(reading.bytes_by_process)


def nvml_lists_gpus(evidence: Evidence) -> str:
    gpu = evidence.gpu
    if lacks := [name for name in ("name", "bytes", "uuid", "driver") if not getattr(gpu, name)]:
        raise NotHeld(f"NVML does not tell: {', '.join(lacks)}")
    return f"{gpu.name}, {gpu.bytes / 2**30:.0f} GiB, {gpu.uuid}, driver {gpu.driver}"


def nvml_order(evidence: Evidence) -> str:
    before = listed(evidence.idle, Part.KERNELS, evidence)
    now = listed(evidence.busy, Part.TIMES, evidence)
    if not now - before:
        raise NotHeld(f"no process came to {evidence.gpu.uuid} while a GPU worker computed")
    return f"a process came to {evidence.gpu.uuid} with the worker"


def hidden(evidence: Evidence) -> str:
    if evidence.cpu_environment is None or evidence.beside_cpu is None:
        raise evidence.missing(Part.CPU)
    seen = [device for device in evidence.cpu_environment.devices if "gpu" in device.lower()]
    if seen:
        raise NotHeld(f"a CPU worker sees {', '.join(seen)}")
    before, after = (listed(reading, Part.CPU, evidence) for reading in evidence.beside_cpu)
    if came := after - before:
        raise NotHeld(f"process {', '.join(map(str, came))} came to the GPU while a CPU case ran")
    return "a CPU worker sees no GPU, and no process came to it"


def one_gpu(evidence: Evidence) -> str:
    if evidence.environment is None:
        raise evidence.missing(Part.KERNELS)
    seen = [device for device in evidence.environment.devices if device.startswith("GPU")]
    if len(seen) != 1 or not seen[0].startswith("GPU:0"):
        raise NotHeld(f"a GPU worker sees {', '.join(seen) or 'none'}")
    return seen[0]


def shared_memory(evidence: Evidence) -> str:
    held = {} if evidence.both is None else evidence.both.bytes_by_process
    if not evidence.other:
        raise evidence.missing(Part.PAIR)
    if not held or any(used is None for used in held.values()):
        raise Unchecked("this driver does not tell the memory of a process")
    most = max(used or 0 for used in held.values())
    if len(held) < 2 or most > MOST_OF_MEMORY * evidence.gpu.bytes:
        raise NotHeld(f"{len(held)} processes hold memory, the largest {most / 2**30:.1f} GiB")
    return f"two workers hold cases at once, the larger one {most / 2**30:.1f} GiB"


def cudnn_in_the_graph(evidence: Evidence) -> str:
    return proved(evidence, wanted(evidence, "cuDNN", kernel="cudnn", device="gpu", precision="float32"), "cudnn")


def every_graph(evidence: Evidence) -> str:
    on_gpu = [spec for spec in wanted(evidence, "the GPU", device="gpu") if spec.key in evidence.opened]
    if not on_gpu:
        raise evidence.missing(Part.KERNELS)
    wrong = [spec.key for spec in on_gpu if "unknown" in evidence.opened[spec.key].facts.kernel]
    if wrong:
        raise NotHeld(f"unknown is the kernel of {', '.join(wrong)}")
    return f"{len(on_gpu)} cases were proved, none is unknown"


def loops_counted(evidence: Evidence) -> str:
    specs = wanted(evidence, "the loop", kernel="loop", device="gpu", precision="float32")
    said = proved(evidence, specs, "loop")
    counts = [
        f"{spec.path} {evidence.opened[spec.key].facts.resolved[name]} {name}"
        for spec in specs
        for name in ("loops", "loops_on_cpu")
        if name in evidence.opened[spec.key].facts.resolved
    ]
    return f"{said}{'; ' if counts else ''}{', '.join(counts)}"


def products_on_the_gpu(evidence: Evidence) -> str:
    specs = wanted(evidence, "the loop", kernel="loop", device="gpu")
    specs += [spec for spec in evidence.find(kernel="unrolled", device="gpu") if spec.skip is None]
    facts = {spec.key: evidence.facts(spec).facts for spec in specs}
    if wrong := [f"{key} ran as {one.kernel} on {one.device}" for key, one in facts.items() if one.device != "gpu"]:
        raise NotHeld("; ".join(wrong))
    return f"{', '.join(dict.fromkeys(f'{spec.kernel} {spec.precision}' for spec in specs))} on gpu"


def xla_seen(evidence: Evidence) -> str:
    return proved(evidence, wanted(evidence, "XLA", kernel="xla", device="gpu"), "xla")


def xla_opens(evidence: Evidence) -> str:
    opened = evidence.facts(wanted(evidence, "XLA", kernel="xla", device="gpu")[0])
    return f"opened, with a first call of {opened.first_call_seconds:.2g} s"


def traced_is_run(evidence: Evidence) -> str:
    if not evidence.rows:
        raise evidence.missing(Part.TABLE)
    compared, wrong = 0, []
    for row in evidence.rows:
        path = {"inference": "forward", "training": "backward"}[row.mode]
        workload = row.group.removeprefix("workload:")
        for spec in evidence.find(kernel="auto", device="gpu", path=path, workload=workload):
            ran = evidence.facts(spec).facts.kernel
            compared += 1
            if ran != row.plain_kernel:
                wrong.append(f"{spec.key} was traced as {row.plain_kernel} and ran as {ran}")
    if wrong:
        raise NotHeld("; ".join(wrong))
    if not compared:
        raise Unchecked("no case that was run stands in the table of kernels")
    return f"{compared} cases ran as they were traced"


def auto_picks(evidence: Evidence) -> str:
    specs = wanted(evidence, "Keras's own choice", kernel="auto", device="gpu")
    off = [spec for spec in specs if spec.workload.endswith(_OFF_CUDNN)]
    said = proved(evidence, [spec for spec in specs if spec not in off], "cudnn")
    for spec in off:
        if (ran := evidence.facts(spec).facts.kernel) == "cudnn":
            raise NotHeld(f"{spec.key} ran as {ran}")
    return f"{said}; not for {', '.join(spec.workload for spec in off)}"


def masks(evidence: Evidence) -> str:
    right = [spec for spec in evidence.find(device="gpu", kernel="cudnn") if spec.workload.endswith("mask-right")]
    left = [spec for spec in evidence.find(device="gpu", kernel="cudnn") if spec.workload.endswith("mask-left")]
    if not right or not left or right[0].skip is not None:
        raise Unchecked("this framework's cuDNN takes no mask, so that none is picked for one")
    said = proved(evidence, right[:1], "cudnn")
    if left[0].key in evidence.opened:
        raise NotHeld(f"{left[0].key} opened, although its mask is at the start")
    if left[0].key not in evidence.failures:
        raise evidence.missing(Part.KERNELS)
    return f"{said} with a mask at the end; fails with one at the start"


def xla_both_ways(evidence: Evidence) -> str:
    both = [
        spec
        for spec in wanted(evidence, "XLA", kernel="xla", device="gpu")
        if spec.work is not None and "both ways" in spec.work.traits.get("network size", "")
    ]
    if not both:
        raise Unchecked("there is no case of a bidirectional layer under XLA here")
    return proved(evidence, both, "xla")


def cpu_kernel(evidence: Evidence) -> str:
    specs = wanted(evidence, "the CPU", device="cpu")
    said = proved(evidence, specs, "loop", "cpu")
    for spec in specs:
        if (jit := evidence.opened[spec.key].facts.resolved.get("jit_compile", "False")) != "False":
            raise NotHeld(f"jit_compile of {spec.key} resolved to {jit}")
    return said


def float32_agrees(evidence: Evidence) -> str:
    return _errors(evidence, ("float32",))


def half_agrees(evidence: Evidence) -> str:
    return _errors(evidence, ("mixed_float16", "mixed_bfloat16"))


def _errors(evidence: Evidence, precisions: Sequence[str]) -> str:
    """The largest error by precision. A case that is off fails when it is opened, at stage ``oracle``."""
    said = []
    for precision in precisions:
        specs = wanted(evidence, precision, device="gpu", precision=precision)
        off = [spec for spec in specs if (f := evidence.failures.get(spec.key)) is not None and f.stage == "oracle"]
        if off:
            raise NotHeld("; ".join(evidence.failures[spec.key].message.splitlines()[0] for spec in off))
        opened = [evidence.opened[spec.key].facts for spec in specs if spec.key in evidence.opened]
        errors = [
            error for facts in opened for error in (facts.output_error, facts.gradient_error) if error is not None
        ]
        if not errors:
            raise evidence.missing(Part.KERNELS)
        said.append(f"{precision} off by {max(errors):.1e} at most, in {len(opened)} cases")
    tf32 = evidence.environment.settings.get("tf32") if evidence.environment else None
    if precisions == ("float32",) and tf32 is not None:
        if tf32 != "off":
            raise NotHeld(f"the setting tf32 is {tf32} in a worker")
        said.append("tf32 is off")
    return "; ".join(said)


def same_numbers(evidence: Evidence) -> str:
    if not evidence.other:
        raise evidence.missing(Part.PAIR)
    for spec in evidence.specs:
        if spec.key in evidence.other:
            try:
                check_same(spec, evidence.facts(spec).facts, evidence.other[spec.key].facts, 2)
            except CaseError as error:
                raise NotHeld(error.failure.message) from None
    return f"{len(next(iter(evidence.other.values())).facts.probe)} probed numbers are the same in two processes"
