"""From evidence to a finding for every assumption. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perf.harness.gpu_check import checks, timing_checks
from perf.harness.gpu_check.checks import Check
from perf.harness.gpu_check.records import Assumption, Evidence, Finding, NotHeld, Outcome, Unchecked

#: By the id of the assumption; those that are not here say why not themselves.
CHECKS: Mapping[str, Check] = {
    "nvml-lists-gpus": checks.nvml_lists_gpus,
    "nvml-order-is-cudas": checks.nvml_order,
    "hidden-from-cpu-workers": checks.hidden,
    "one-gpu-in-a-worker": checks.one_gpu,
    "memory-shared-by-two": checks.shared_memory,
    "cudnn-in-the-graph": checks.cudnn_in_the_graph,
    "every-graph-collected": checks.every_graph,
    "loops-counted": checks.loops_counted,
    "products-on-the-gpu": checks.products_on_the_gpu,
    "xla-seen": checks.xla_seen,
    "xla-finds-its-tools": checks.xla_opens,
    "traced-is-run": checks.traced_is_run,
    "auto-picks-cudnn": checks.auto_picks,
    "masks-and-cudnn": checks.masks,
    "xla-both-ways": checks.xla_both_ways,
    "cpu-kernel-beside-a-gpu": checks.cpu_kernel,
    "float32-agrees": checks.float32_agrees,
    "half-precisions-agree": checks.half_agrees,
    "same-numbers-elsewhere": checks.same_numbers,
    "synchronise-waits": timing_checks.synchronise_waits,
    "keras-paths-wait": timing_checks.keras_paths_wait,
    "warm-up-pays": timing_checks.warm_up_pays,
    "rounds-steady": timing_checks.rounds_steady,
    "time-limit-enough": timing_checks.time_limit_enough,
    "turns-do-not-slow": timing_checks.turns_do_not_slow,
    "inputs-on-the-gpu": timing_checks.inputs_on_the_gpu,
    "throttling-shown": timing_checks.throttling_shown,
    "pids-are-ours": timing_checks.pids_are_ours,
    "utilisation-by-process": timing_checks.utilisation,
    "energy-counter": timing_checks.energy_counter,
    "reading-is-cheap": timing_checks.reading_is_cheap,
    "memory-counted": timing_checks.memory_counted,
    "memory-given-back": timing_checks.memory_given_back,
}


def judge(assumptions: Iterable[Assumption], evidence: Evidence) -> dict[str, Finding]:
    """One finding for each, by id, in their order."""
    return {one.id: _finding(one, evidence) for one in assumptions}


def _finding(assumption: Assumption, evidence: Evidence) -> Finding:
    if assumption.unchecked:
        return Finding(assumption.id, Outcome.UNCHECKED, assumption.unchecked)
    try:
        return Finding(assumption.id, Outcome.HELD, CHECKS[assumption.id](evidence))
    except NotHeld as seen:
        return Finding(assumption.id, Outcome.BROKEN, str(seen))
    except Unchecked as why:
        return Finding(assumption.id, Outcome.UNCHECKED, str(why), why.missed)
