"""The second stage: refuse whatever can be refused before anything is measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from perf.harness import baseline as baselines
from perf.harness import builds, expectation_store, gpus, runs, spec, starting
from perf.harness import machine as machines
from perf.harness.builds import BuiltSide
from perf.harness.conditions import Counter
from perf.harness.environment import Side
from perf.harness.errors import Refusal
from perf.harness.expectation_store import Kept
from perf.harness.frameworks import TENSORFLOW, Framework, framework_of
from perf.harness.gpus import Chosen, Gpu
from perf.harness.options import Options
from perf.harness.records import Baseline, Machine
from perf.harness.replies import CaseError
from perf.harness.report.page import write
from perf.harness.suite import Suite, SuiteRequest
from perf.harness.watch import why_no_energy


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that is settled before measuring: the cases, this machine, and what they will be compared with."""

    options: Options
    machine: Machine
    suite: Suite
    devices: tuple[str, ...]
    gpu: Chosen | None  # the one that GPU workers see
    storage: Path  # the folder of this machine's runs
    baseline: Baseline | None
    history: runs.History
    sides: tuple[BuiltSide, BuiltSide] | None  # the baseline's and the candidate's, with --perf-against
    kept: Mapping[str, Kept] = field(default_factory=dict)  # expectations as the baseline found them, by id
    energy_absent: Mapping[Counter, str] = field(default_factory=dict)  # counters that cannot be read here, and why
    framework: Framework = TENSORFLOW  # on which Keras runs in what is measured


def prepare(
    options: Options, storage: Path, ask_suite: Callable[[SuiteRequest], Suite], say: Callable[[str], None]
) -> Prepared:
    """Raises :class:`Refusal` for a report that has no place, a device that is not there, bad workloads, a baseline
    that cannot be used, or an environment that cannot be built. ``say`` is told what is being waited for."""
    if options.report is not None:
        write.refuse_unfit(options.report)
    found, usable, why_none = _usable_gpus(options)
    if options.require == "gpu" and not usable:
        raise Refusal(f"{options.asks_for_gpu}: {why_none} Nothing was measured.")
    devices = (options.device,) if options.device != "auto" else ("cpu", "gpu") if usable else ("cpu",)
    if options.require is not None and options.require not in devices:
        raise Refusal(
            f"--perf-require {options.require} with --perf-device {options.device}: the required device would not be "
            "measured. Drop one of the two."
        )
    against, candidate = spec.parse(options.against), spec.parse(options.candidate, "--perf-candidate")
    frameworks = [framework_of(side.variables) for side in ((candidate, against) if options.against else (candidate,))]
    suite = ask_suite(
        SuiteRequest(
            options.profile,
            devices,
            options.workloads,
            bool(options.against),
            options.expectations,
            tuple(framework.name for framework in frameworks),
        )
    )
    if "gpu" in devices and not usable:
        suite = _skip_gpu(suite, why_none)
    machine = machines.fingerprint()
    storage = storage / machine.id
    baseline, history = None, runs.History((), ())
    kept: Mapping[str, Kept] = {}
    if options.compare:
        if isinstance(options.compare, str):
            path = runs.find_run(storage, options.compare)
            baseline = baselines.from_run(runs.read_run(path), machine)
            kept = expectation_store.of_run(path, runs.BLOCK)
        else:
            baseline = baselines.load(suite.baselines, machine)
            kept = expectation_store.of_baseline(baselines.path_for(suite.baselines, machine))
        # Read now: the run that is about to be measured must not be part of what it is compared with.
        history = runs.history(storage)
        _same_processes(options.processes, baseline)
    gpu = gpus.choose(found, options.gpu, usable, _gpu_of(baseline)) if "gpu" in devices else None
    machine = machines.using(machine, gpu)
    sides = None
    if options.against:
        sides = builds.sides(against, candidate, say)
    if options.require == "gpu" and gpu is not None:
        for side in [built.side for built in sides] if sides else [Side()]:
            _refuse_hidden(side, gpu, suite, options, say)
    absent = {} if sides else why_no_energy(gpu.gpu.uuid if gpu else None)
    return Prepared(
        options, machine, suite, devices, gpu, storage, baseline, history, sides, kept, absent, frameworks[0]
    )


def _same_processes(processes: int, baseline: Baseline) -> None:
    """Fewer processes than the baseline's runs had: their median varies more than the spread that is known."""
    needed = max(len(result.samples) for case in baseline.cases.values() for _, _, result in case.runs)
    if processes < needed:
        raise Refusal(
            f"--perf-processes {processes}: the baseline was measured with {needed} processes, and the median of "
            f"fewer varies more than its runs do. Use at least --perf-processes {needed}, or promote runs with "
            f"{processes}."
        )


def _usable_gpus(options: Options) -> tuple[tuple[Gpu, ...], tuple[Gpu, ...], str]:
    """The GPUs that NVML lists, those that may be used, and why there are none."""
    found = gpus.gpus()
    if options.gpu is not None or not found:
        return found, found, gpus.why_no_gpu()
    usable, hidden = gpus.visible(found, os.environ)
    return found, usable, hidden


def _gpu_of(baseline: Baseline | None) -> str | None:
    return None if baseline is None else baseline.machine.informs.get(machines.GPU_USED)


def _refuse_hidden(side: Side, gpu: Chosen, suite: Suite, options: Options, say: Callable[[str], None]) -> None:
    """NVML lists the required GPU; whether the framework can use it only a worker can tell."""
    say("asking a worker whether it sees the GPU")
    try:
        starting.check_gpu(side, suite.worker, suite.root, options.timeout_seconds, gpu.gpu.uuid)
    except CaseError as error:
        raise Refusal(
            f"{options.asks_for_gpu}: NVML lists {gpus.listed([gpu.gpu])} with driver {gpu.gpu.driver}, but a GPU "
            f"worker cannot use it. {error.failure.message}\nNothing was measured."
        ) from None


def _skip_gpu(suite: Suite, reason: str) -> Suite:
    specs = (replace(s, skip=s.skip or f"no GPU: {reason}") if s.device == "gpu" else s for s in suite.specs)
    expectations = (
        replace(each, skip=each.skip or f"no GPU: {reason}")
        if "gpu" in (each.first.device, each.second.device)
        else each
        for each in suite.expectations
    )
    return replace(suite, specs=tuple(specs), expectations=tuple(expectations))
