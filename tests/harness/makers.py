"""Small constructors of records; each argument has a value that a test need not care about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from perf.harness.records import (
    Baseline,
    BaselineCase,
    CaseResult,
    CaseSpec,
    Environment,
    Facts,
    Failure,
    Machine,
    Run,
    Sample,
)
from perf.harness.runs import encode_run
from perf.harness.storing import write_whole

START = datetime(2025, 1, 1, 12, tzinfo=UTC)


def key(number: int = 0) -> str:
    return f"forward[w{number}-b32-cpu-loop-float32]"


def spec(number: int = 0, **changes: Any) -> CaseSpec:
    fields: dict[str, Any] = {
        "key": key(number),
        "id": key(number)[len("forward[") : -1],
        "path": "forward",
        "workload": f"w{number}",
        "batch": 32,
        "device": "cpu",
        "kernel": "loop",
        "precision": "float32",
        "hash": "0123456789abcdef",
        "steps_per_call": 1,
        "keeps_calls": False,
        "expects_kernel": "loop",
        "payload": {},
    }
    return CaseSpec(**{**fields, **changes})


def facts(**changes: Any) -> Facts:
    fields: dict[str, Any] = {
        "kernel": "loop",
        "device": "cpu",
        "resolved": {"jit_compile": "False"},
        "first_call_traces": 1,
        "output_error": 1e-7,
        "gradient_error": None,
        "tolerance": 1e-5,
        "probe": (0.5, -0.25),
    }
    return Facts(**{**fields, **changes})


def sample(seconds_per_step: float = 0.01, process: int = 0, **changes: Any) -> Sample:
    fields: dict[str, Any] = {
        "process": process,
        "calls_per_round": 4,
        "steps_per_call": 1,
        "seconds_per_round": tuple(float(f"{4 * seconds_per_step * factor:.7g}") for factor in (0.99, 1.0, 1.01)),
        "rounds_discarded": 2,
        "steady": True,
        "first_call_seconds": 0.4,
        "bytes_peak": 11 * 2**20,
        "timed_traces": 0,
        "facts": facts(),
    }
    return Sample(**{**fields, **changes})


def result(
    seconds: float | Sequence[float] = 0.01, number: int = 0, *, spec_changes: Mapping[str, Any] = {}, **changes: Any
) -> CaseResult:
    """``seconds`` per step, of one process or of each."""
    each = [seconds] if isinstance(seconds, float) else seconds
    samples = tuple(sample(one, process, **changes) for process, one in enumerate(each))
    return CaseResult(spec(number, **spec_changes), samples)


def failed(number: int = 0, stage: str = "worker", message: str = "was killed") -> CaseResult:
    return CaseResult(spec(number), (), Failure(stage, message))


def machine(cpu: str = "Fast CPU", name: str = "fast-cpu-1a2b", **informs: str) -> Machine:
    return Machine({"cpu": cpu, "cores": "8"}, {"host": "a", **informs}, name)


def environment(tensorflow: str = "2.21.0", **variables: str) -> Environment:
    return Environment(
        versions={"python": "3.11.2", "tensorflow": tensorflow, "keras": "3.15.1"},
        packages={"tensorflow": tensorflow, "keras": "3.15.1"},
        settings={"onednn": "1"},
        variables=variables,
        devices=("cpu",),
    )


def run(cases: Sequence[CaseResult], number: int = 1, **changes: Any) -> Run:
    """The ``number``-th run of a machine, one a day."""
    fields: dict[str, Any] = {
        "name": f"{number:04d}_night",
        "date": START + timedelta(days=number),
        "machine": machine(),
        "environments": {"cpu": environment()},
        "profile": "smoke",
        "suite": "built-in",
        "seed": 7,
        "complete": True,
        "interrupted": False,
        "cases": {case.spec.key: case for case in cases},
        "red": {},
    }
    return Run(**{**fields, **changes})


def baseline_of(*runs: Run, reason: str = "first") -> Baseline:
    """All cases of the first run, promoted from all of ``runs``."""
    cases = {
        case_key: BaselineCase(
            key=case_key,
            hash=case.spec.hash,
            runs=tuple((one.name, one.date, one.cases[case_key]) for one in runs),
            environment=runs[0].environments[case.spec.device],
            profile=runs[0].profile,
            suite=runs[0].suite,
            promoted=START + timedelta(days=100),
            reason=reason,
        )
        for case_key, case in runs[0].cases.items()
    }
    return Baseline("perf/baselines/fast-cpu-1a2b.json", runs[0].machine, cases)


def run_json(one: Run) -> dict[str, Any]:
    """What pytest-benchmark and the plugin store of a run, reduced to what is read again."""
    blocks = encode_run(
        date=one.date,
        machine=one.machine,
        environments=one.environments,
        profile=one.profile,
        suite=one.suite,
        complete=one.complete,
        interrupted=one.interrupted,
        seed=one.seed,
        red=one.red,
        results=one.cases,
        selection=one.selection,
    )
    stats = {"min": 0.01, "max": 0.01, "mean": 0.01, "median": 0.01}
    benchmarks = [
        {"name": name, "stats": stats, "extra_info": {"lstm_perf": block}} for name, block in blocks.cases.items()
    ]
    value: dict[str, Any] = json.loads(
        json.dumps({"version": "5.3.1", "benchmarks": benchmarks, "lstm_perf": blocks.top})
    )
    return value


def store(directory: Path, one: Run) -> Path:
    path = directory / f"{one.name}.json"
    write_whole(path, run_json(one))
    return path
