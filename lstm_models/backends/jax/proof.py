"""Which kernel and device ran, read from what JAX executed.

One call is watched (:mod:`lstm_models.backends.jax.watching`): each jitted function that runs in it gives the jaxpr
that it was traced to, the program that XLA compiled it to, and the devices of its results. A silent fall-back of Keras
(a mask, an error in JAX's cuDNN LSTM) so shows as the loop that it is.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Collection

from lstm_models.backends.jax.program import Counts, count
from lstm_models.backends.jax.watching import executed
from lstm_models.proof import Expected, Proof

if TYPE_CHECKING:
    from lstm_models.case import Case
    from lstm_models.step import Step

_GPUS = ("gpu", "cuda", "rocm")


def classify(counts: Counts, expected: Expected) -> str:
    """Name of the kernel behind the counts.

    The jaxpr names it. cuDNN is its own operation; a loop is one ``scan`` with the step's products inside per LSTM,
    and a second one for its gradient; unrolled is neither, with the 2T - 1 or more products of T steps. More than one
    of them, or fewer than there are LSTMs, is ``mixed`` and says how many of each. What XLA compiled must bear it out,
    else it is unknown: no cuDNN without a call of it, no loop of several steps without a loop.
    """
    if bool(counts.cudnn_calls) != bool(counts.compiled_cudnn_calls):
        return "unknown"
    if counts.long_loops and not counts.compiled_loops:
        return "unknown"
    loops = (counts.loops + 1) // 2 if expected.training else counts.loops
    found = {"cudnn": counts.cudnn_lstms, "loop": loops}
    enough = bool(expected.timesteps) and counts.products >= max(2 * expected.timesteps - 1, 1)
    if not any(found.values()):
        return "unrolled" if enough else "unknown"
    missing = 0 if expected.cells is None else expected.cells - sum(found.values())
    if missing > 0:
        found["unrolled" if enough else "unknown"] = missing
    kinds = {name: number for name, number in found.items() if number}
    if len(kinds) == 1:
        return next(iter(kinds))
    return "mixed: " + ", ".join(f"{name} {number}" for name, number in kinds.items())


def device_of(platforms: Collection[str]) -> str:
    """Where the results of all programs lie, from JAX's names of platforms."""
    found = sorted({"gpu" if platform in _GPUS else platform for platform in platforms})
    if len(found) == 1:
        return found[0]
    return f"mixed: {', '.join(found)}" if found else "unknown"


def prove(step: Step, case: Case) -> Proof:
    """What runs when ``step`` is called; calls it once, after its first call.

    A call that traces or compiles anew proves nothing about the calls that are timed: the kernel is then unknown.
    """
    traces = step.traces()
    with executed() as programs:
        step.call()
    counts = Counts()
    for program in programs.values():
        counts.add(count(program.jaxpr, program.compiled))
    evidence = {"source": "jaxprs and compiled programs", "programs": str(len(programs))}
    evidence.update({name: str(number) for name, number in asdict(counts).items()})
    kernel = classify(counts, Expected.of(case.workload, case.path))
    if step.traces() != traces:
        evidence["new_traces"] = str(step.traces() - traces)
        kernel = "unknown"
    platforms = {platform for program in programs.values() for platform in program.platforms}
    return Proof(kernel, device_of(platforms), evidence)
