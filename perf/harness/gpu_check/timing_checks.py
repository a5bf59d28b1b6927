"""Every check of an assumption about time, copies, energy and memory; as :mod:`perf.harness.gpu_check.checks`."""

from __future__ import annotations

import math
import statistics

from perf.harness.gpu_check.checks import listed, wanted
from perf.harness.gpu_check.looking import TIMES_AS_MANY
from perf.harness.gpu_check.records import Evidence, NotHeld, Part, Unchecked
from perf.harness.records import CaseSpec
from perf.harness.why.records import TRANSFER

#: How far rounds of ten times the calls may be from ten times as long.
SCALING = 0.25
#: Part of a round for which the next call may be kept waiting: what it waits for was left running.
LEFT_RUNNING = 0.25
#: A first call may take this many times as long as a later one of the same case, beyond so many seconds.
FIRST_CALL, FIRST_CALL_SECONDS = 1.5, 0.2
#: How far one process may be from the other in the median, and alone from in a pair.
PAIR = 0.05
#: Of the spread (standard deviation of the ln of ratios) of rounds next to each other.
PAIR_SPREAD = 0.2
#: How far the energy of a step may be apart between a short stretch and a long one.
ENERGY = 0.15
#: What a copy costs by the calls may be this part of what it costs alone, or more.
COPY = 0.3
READING_SECONDS = 0.01
#: A peak may differ by this part where the same case is opened again.
MEMORY = 0.02


def synchronise_waits(evidence: Evidence) -> str:
    return _scales(evidence, ("forward", "backward"))


def keras_paths_wait(evidence: Evidence) -> str:
    return _scales(evidence, ("fit", "evaluate", "predict"))


def _scales(evidence: Evidence, paths: tuple[str, ...]) -> str:
    specs = [spec for spec in evidence.specs if spec.key in evidence.scaled and spec.path in paths]
    if not specs:
        raise evidence.missing(Part.TIMES)
    said = []
    for spec in specs:
        one = evidence.scaled[spec.key]
        ratio = one.many / one.few
        if abs(ratio / TIMES_AS_MANY - 1) > SCALING:
            raise NotHeld(f"{spec.key}: {TIMES_AS_MANY} times the calls took {ratio:.3g} times as long")
        if one.kept_waiting > LEFT_RUNNING * one.many:
            raise NotHeld(f"{spec.key}: after its rounds the next call waited {one.kept_waiting:.2g} s")
        said.append(f"{spec.path} {spec.kernel} ×{ratio:.3g}")
    return f"{TIMES_AS_MANY} times the calls: {', '.join(said)}"


def warm_up_pays(evidence: Evidence) -> str:
    if not evidence.again:
        raise evidence.missing(Part.KERNELS)
    ((key, later),) = evidence.again.items()
    first = evidence.opened[key].first_call_seconds
    said = (
        f"the first call of {key} took {first:.2g} s when it was opened first, {later.first_call_seconds:.2g} s later"
    )
    if first > FIRST_CALL * later.first_call_seconds + FIRST_CALL_SECONDS:
        raise NotHeld(said)
    return said


def rounds_steady(evidence: Evidence) -> str:
    timed = {
        spec.key: evidence.samples[spec.key] for spec in evidence.find(device="gpu") if spec.key in evidence.samples
    }
    if not timed:
        raise evidence.missing(Part.TIMES)
    unsteady = [key for key, sample in timed.items() if not sample.steady]
    clocks = [
        (c.sm_clock_mhz_lowest, c.sm_clock_mhz_highest) for s in timed.values() if (c := s.conditions) is not None
    ]
    seen = sorted({clock for pair in clocks for clock in pair if clock is not None})
    said = f"SM clock {seen[0]} to {seen[-1]} MHz" if seen else "clocks are not told"
    if len(unsteady) * 2 > len(timed):
        raise NotHeld(f"{len(unsteady)} of {len(timed)} cases reached no steady state: {', '.join(unsteady)}; {said}")
    return f"{len(timed) - len(unsteady)} of {len(timed)} cases steady, {said}"


def time_limit_enough(evidence: Evidence) -> str:
    if late := [key for key, failure in evidence.failures.items() if failure.stage == "time limit"]:
        raise NotHeld(f"no answer within {evidence.time_limit:g} s: {', '.join(late)}")
    seconds, op = evidence.longest_request
    if not op:
        raise evidence.missing(Part.KERNELS)
    return f"the longest request, {op!r}, took {seconds:.2g} s of {evidence.time_limit:g}"


def turns_do_not_slow(evidence: Evidence) -> str:
    if not evidence.pair_ratios or evidence.alone_and_paired is None:
        raise evidence.missing(Part.PAIR)
    logs = [math.log(ratio) for ratio in evidence.pair_ratios]
    middle, spread = math.exp(statistics.median(logs)), statistics.stdev(logs)
    alone, paired = evidence.alone_and_paired
    said = (
        f"one process over the other {middle:.3f}, rounds spread by {100 * spread:.1f} %; in a pair "
        f"{paired / alone:.3f} of alone"
    )
    if abs(middle - 1) > PAIR or spread > PAIR_SPREAD or abs(paired / alone - 1) > PAIR:
        raise NotHeld(said)
    return said


def inputs_on_the_gpu(evidence: Evidence) -> str:
    host, device = _host_and_device(evidence)
    apart = evidence.sample(host).seconds_per_step - evidence.sample(device).seconds_per_step
    copies = [peak.transfer for peak in evidence.peaks if peak.transfer is not None]
    work = host.work
    if not copies or work is None or work.input_bytes_per_sample is None:
        raise evidence.missing(Part.PEAK)
    alone = copies[0].seconds(work.input_bytes_per_sample * host.batch)
    said = (
        f"arrays of the host cost {1e3 * apart:.3g} ms a step at batch {host.batch}, their copy alone "
        f"{1e3 * alone:.3g} ms"
    )
    if apart < COPY * alone:
        raise NotHeld(said)
    return said


def _host_and_device(evidence: Evidence) -> tuple[CaseSpec, CaseSpec]:
    for host in wanted(evidence, "cuDNN", kernel="cudnn", device="gpu", path="forward"):
        if host.work is not None and TRANSFER in host.work.traits:
            return host, next(
                spec for spec in evidence.find(kernel="cudnn", device="gpu", path="forward", batch=host.batch)
                if spec.workload == host.workload and spec is not host
            )  # fmt: skip
    raise Unchecked("no case here is given arrays of the host")


def throttling_shown(evidence: Evidence) -> str:
    seen = [sample.conditions for sample in evidence.samples.values() if sample.conditions is not None]
    seen = [one for one in seen if one.sm_clock_mhz_lowest is not None or one.celsius_highest is not None]
    if not seen:
        raise evidence.missing(Part.TIMES)
    if void := [why for one in seen for why in one.blocks_void]:
        raise NotHeld(f"{len(void)} blocks of rounds were void, the last because {void[-1]}")
    return f"no block of {len(seen)} cases was void; with the fans held down nobody looked"


def pids_are_ours(evidence: Evidence) -> str:
    now = listed(evidence.busy, Part.TIMES, evidence)
    before = listed(evidence.idle, Part.KERNELS, evidence)
    if evidence.busy_pid in now:
        return f"the worker's, {evidence.busy_pid}, is listed"
    if now - before:
        raise Unchecked("the driver counts pids otherwise, as in a container: the busiest are taken for the workers")
    raise NotHeld("no process was listed while a worker held the GPU")


def utilisation(evidence: Evidence) -> str:
    if evidence.busy is None:
        raise evidence.missing(Part.TIMES)
    percents = evidence.busy.percent_by_process
    if percents is None:
        raise Unchecked("this driver does not tell it")
    if not percents:
        raise NotHeld("no process had a sample after a worker had computed for a second")
    return ", ".join(f"pid {pid}: {percent} %" for pid, percent in percents.items())


def energy_counter(evidence: Evidence) -> str:
    if evidence.busy is not None and evidence.busy.joules is None:
        raise Unchecked("this GPU or its driver has no counter of energy")
    if evidence.joules_per_step is None:
        raise evidence.missing(Part.TIMES)
    short, long = evidence.joules_per_step
    said = f"{short:.3g} J a step over a second, {long:.3g} J over four"
    if abs(long / short - 1) > ENERGY:
        raise NotHeld(said)
    return said


def reading_is_cheap(evidence: Evidence) -> str:
    if not evidence.reading_seconds:
        raise evidence.missing(Part.KERNELS)
    typical = statistics.median(evidence.reading_seconds)
    said = f"{1e3 * typical:.2g} ms for each of {len(evidence.reading_seconds)} readings"
    if typical > READING_SECONDS:
        raise NotHeld(said)
    return said


def memory_counted(evidence: Evidence) -> str:
    small, large = _peaks(evidence, "alone", "large")
    said = f"a peak of {small / 2**20:.0f} MiB for the small case, {large / 2**20:.0f} MiB for the large one"
    if large <= small:
        raise NotHeld(said)
    return said


def memory_given_back(evidence: Evidence) -> str:
    alone, after = _peaks(evidence, "alone", "after")
    said = f"{alone / 2**20:.1f} MiB alone, {after / 2**20:.1f} MiB after a large case"
    if abs(after - alone) > MEMORY * alone:
        raise NotHeld(said)
    return said


def _peaks(evidence: Evidence, *names: str) -> list[int]:
    if any(name not in evidence.memory for name in names):
        raise evidence.missing(Part.MEMORY)
    found = [evidence.memory[name].device_bytes_peak for name in names]
    if evidence.memory[names[0]].device_bytes_peak is None:
        raise Unchecked("this framework counts no memory of the GPU")
    if missing := [name for name, peak in zip(names, found, strict=True) if peak is None]:
        raise NotHeld(f"the peak is in doubt: of the case {missing[0]}, an earlier case had left too much behind")
    return [peak for peak in found if peak is not None]
