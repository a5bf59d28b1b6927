"""python -m lstm_models list | run CASE | explain WORKLOAD: one workload at a time, without pytest and baselines."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from typing import Optional, Sequence

from lstm_models import backends, workloads
from lstm_models.case import Case
from lstm_models.problem import Problem
from lstm_models.words import Device, Framework, Kernel, Path, Precision
from lstm_models.workloads import Workload, WorkloadError


class Wrong(Exception):
    """What a person typed cannot be done: one paragraph, exit status 2."""


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Exit status: 0, 1 where another kernel ran than was asked for, 2 where the command cannot be done."""
    asked = _parser().parse_args(arguments)
    try:
        return int(asked.command(asked))
    except (Wrong, WorkloadError) as error:
        message = str(error)
    except Problem as problem:
        message = problem.message
    print(f"lstm_models: {' '.join(message.split())}", file=sys.stderr)
    return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lstm_models", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="list | run | explain")
    listing = commands.add_parser("list", help="the workloads, and how to name a case")
    listing.set_defaults(command=_list)
    running = commands.add_parser("run", help="one case, in this process: proof, errors, first call, time per step")
    running.add_argument("case", metavar="CASE", help="e.g. forward[translation-b32-cpu-loop-float32]")
    running.add_argument("--rounds", type=_positive, default=30, metavar="N", help="timed rounds (default 30)")
    running.add_argument("--trace", metavar="DIR", help="write the framework's profile of a few steps to DIR")
    running.set_defaults(command=_run)
    explaining = commands.add_parser("explain", help="which kernel Keras picks for a workload, and why")
    explaining.add_argument("workload", metavar="WORKLOAD")
    explaining.set_defaults(command=_explain)
    for command in (listing, running, explaining):
        command.add_argument("--perf-workloads", metavar="FILE", help="a file with workloads of your own, besides")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def _workloads(asked: argparse.Namespace) -> dict[str, Workload]:
    found = workloads.builtin()
    if asked.perf_workloads:
        found.update(workloads.load(asked.perf_workloads))
    return found


def _list(asked: argparse.Namespace) -> int:
    header = ("workload", "LSTM", "steps", "input", "head", "batches", "besides")
    rows = [header, *(_row(workload) for workload in _workloads(asked).values())]
    widths = [max(len(row[at]) for row in rows) for at in range(len(header))]
    for row in rows:
        print("  ".join(text.ljust(widths[at]) for at, text in enumerate(row)).rstrip())
    print()
    print("A case is path[workload-bBATCH-device-kernel-precision], for example")
    print("  python -m lstm_models run 'forward[translation-b32-cpu-loop-float32]'")
    for name, words in (("path", Path), ("device", Device), ("kernel", Kernel), ("precision", Precision)):
        print(f"  {name:<10} {' | '.join(str(word) for word in words)}")
    others = " or ".join(f"-{word}" for word in Framework if word is not Framework.TENSORFLOW)
    print(f"  framework  TensorFlow; {others} after the precision where Keras runs on it")
    print("Any batch size may be named; those above are the ones that the suite measures.")
    return 0


def _row(workload: Workload) -> tuple[str, ...]:
    """One line of the list; a dash where the workload does not say."""
    units = f"{workload.layers} x {workload.units}" + (" bidirectional" if workload.bidirectional else "")
    if workload.kind == "encoder-decoder":
        units = f"{workload.units} encoder, {workload.units} decoder"
    given = f"{workload.features} features" if workload.features else "-"
    if workload.vocabulary:
        given = f"{workload.vocabulary} tokens" + (f" -> {workload.embedding}" if workload.embedding else "")
    head = workload.head + (f" {workload.outputs}" if workload.outputs else "")
    options = (
        ("returns sequences", workload.return_sequences),
        (f"{workload.mask} mask", workload.mask != "none"),
        (f"dropout {workload.dropout:g}", workload.dropout),
        (f"recurrent dropout {workload.recurrent_dropout:g}", workload.recurrent_dropout),
        (workload.activation, workload.activation != "tanh"),
        ("no bias", not workload.use_bias),
        ("stateful", workload.stateful),
        (f"decodes {workload.decode_tokens} tokens", workload.decode_tokens),
        (f"builder {workload.builder}", workload.builder),
        (f"saved {workload.saved}", workload.saved),
    )
    return (
        workload.name,
        units if workload.units else "-",
        str(workload.timesteps or "-"),
        given,
        head,
        ", ".join(str(batch) for batch in workload.batch_sizes),
        ", ".join(text for text, applies in options if applies),
    )


def _explain(asked: argparse.Namespace) -> int:
    known = _workloads(asked)
    if asked.workload not in known:
        raise Wrong(f"There is no workload {asked.workload!r}; there are: {', '.join(known)}.")
    _quiet(hide_gpus=True)
    from lstm_models import explain

    print(explain.text(explain.explain(known[asked.workload])))
    return 0


def _run(asked: argparse.Namespace) -> int:
    try:
        case = Case.parse(asked.case, _workloads(asked))
    except ValueError as error:
        raise Wrong(str(error)) from error
    _choose(case)
    _quiet(hide_gpus=case.device is Device.CPU)
    from lstm_models.run import run

    return run(case, asked.rounds, asked.trace)


def _choose(case: Case) -> None:
    """Run Keras on the case's framework, before anything is imported.

    A name is one piece of work: one without a suffix is TensorFlow's, also where ``KERAS_BACKEND`` was left set to
    another framework. To run it there would give that one's numbers under a name of TensorFlow's results.
    """
    if not os.environ.get("KERAS_BACKEND"):
        os.environ["KERAS_BACKEND"] = str(case.framework)
    chosen = backends.name()
    if chosen == case.framework:
        return
    reason = f"{case.key} runs Keras on {case.framework}, and the environment asks for {chosen!r}"
    if chosen in backends.NAMES:
        other = replace(case, framework=Framework(chosen))
        raise Wrong(f"{reason} (KERAS_BACKEND, TF_USE_LEGACY_KERAS). Unset it, or name the case {other.key}.")
    raise Wrong(f"{reason}, which this suite does not know. Unset KERAS_BACKEND.")


def _quiet(hide_gpus: bool) -> None:
    """Before the framework is imported: without its start-up lines, and without a GPU where none is asked for.

    NumPy's BLAS gets one thread: on a machine with other work its threads wait for each other, and the oracle's small
    products took 12 times as long on two as on one. No framework uses it.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if hide_gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


if __name__ == "__main__":
    sys.exit(main())
