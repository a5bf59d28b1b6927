"""Command-line options, read once into a frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from perf.harness.argument_types import duration, positive, positive_integer
from perf.harness.errors import Refusal
from perf.harness.suite import GPU_CHECK, PROFILES

PROCESSES = 3
PAIRS = 6
#: Seconds that ``--perf-profile gpu-check`` looks at a host, unless ``--perf-budget`` says otherwise: ten minutes with
#: what comes before and after.
GPU_CHECK_SECONDS = 540.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for, validated. ``compare`` is ``None``, ``True`` (the baseline) or the name of a run."""

    profile: str
    device: str
    require: str | None
    processes: int
    expectation_processes: int
    margin_percent: float
    fail_inconclusive: bool
    workloads: Path | None
    expectations: Path | None
    timeout_seconds: float
    budget_seconds: float | None
    gpu: str | None
    seed: int | None
    compare: bool | str | None
    against: tuple[str, ...]
    candidate: tuple[str, ...]
    saves: bool
    report: Path | None

    @property
    def asks_for_gpu(self) -> str:
        """The option that cannot do without one, as the user wrote it."""
        return f"--perf-profile {GPU_CHECK}" if self.profile == GPU_CHECK else "--perf-require gpu"

    @classmethod
    def from_pytest_config(cls, config: pytest.Config) -> Options:
        """Raises :class:`Refusal` where a value makes no sense or two options contradict each other."""
        get = config.getoption
        if get("benchmark_compare_fail"):
            raise Refusal(
                "--benchmark-compare-fail compares two numbers without their noise and is not taken here. Use "
                "--benchmark-compare alone; the smallest change that matters is --perf-margin PERCENT."
            )
        compare = get("benchmark_compare") or None
        against, candidate = tuple(get("perf_against")), tuple(get("perf_candidate"))
        saves = bool(get("benchmark_save") or get("benchmark_autosave"))
        workloads, expectations, report = get("perf_workloads"), get("perf_expectations"), get("perf_report")
        _refuse_mixture(against, candidate, compare, saves)
        checks_gpu = get("perf_profile") == GPU_CHECK
        if checks_gpu and (against or compare or saves or report or workloads or expectations):
            raise Refusal(
                f"--perf-profile {GPU_CHECK} checks what the suite takes for granted about GPUs: it compares with "
                "nothing, takes no files of yours, and writes one file of its own. Drop the other option."
            )
        if against and expectations is not None:
            raise Refusal(
                "--perf-expectations says what should beat what in one environment, and --perf-against measures two. "
                "Drop one of the two."
            )
        return cls(
            profile=get("perf_profile"),
            device=get("perf_device"),
            require=get("perf_require") or ("gpu" if checks_gpu else None),
            processes=get("perf_processes") or (PAIRS if against else PROCESSES),
            expectation_processes=get("perf_processes") or PAIRS,
            margin_percent=get("perf_margin"),
            fail_inconclusive=get("perf_inconclusive") == "fail",
            workloads=None if workloads is None else (config.invocation_params.dir / workloads).resolve(),
            expectations=None if expectations is None else (config.invocation_params.dir / expectations).resolve(),
            timeout_seconds=get("perf_timeout"),
            budget_seconds=get("perf_budget") or (GPU_CHECK_SECONDS if checks_gpu else None),
            gpu=get("perf_gpu"),
            seed=get("perf_seed"),
            compare=compare,
            against=against,
            candidate=candidate,
            saves=saves,
            report=None if report is None else (config.invocation_params.dir / report).resolve(),
        )


def _refuse_mixture(
    against: tuple[str, ...], candidate: tuple[str, ...], compare: bool | str | None, saves: bool
) -> None:
    if candidate and not against:
        raise Refusal("--perf-candidate is one side of --perf-against SPEC, and the other is not given.")
    if against and compare:
        raise Refusal(
            "--perf-against and --benchmark-compare are two gates: side by side with another environment, or with "
            "stored numbers. Ask for one of them."
        )
    if against and saves:
        raise Refusal(
            "--benchmark-save keeps runs of one environment, and --perf-against measures two side by side. Its raw "
            "rounds are kept anyway; their file is named at the end. Drop --benchmark-save."
        )


def add_options(parser: pytest.Parser) -> None:
    """Adds the ``--perf-*`` options."""
    group = parser.getgroup("lstm-perf", "performance of LSTMs")
    add = group.addoption
    add(
        "--perf-profile",
        choices=(*PROFILES, GPU_CHECK),
        default="smoke",
        help=f"which cases (default: %(default)s); {GPU_CHECK}: whether what the suite takes for granted about GPUs "
        "holds here, within ten minutes",
    )
    add(
        "--perf-device",
        choices=("auto", "cpu", "gpu"),
        default="auto",
        help="auto: cpu, and gpu where NVML lists one (default: %(default)s)",
    )
    add("--perf-require", choices=("cpu", "gpu"), metavar="DEVICE", help="refuse to measure where it is not there")
    add(
        "--perf-processes",
        type=positive_integer,
        metavar="K",
        help=f"independent processes, each measuring every case (default: {PROCESSES}; {PAIRS} for expectations; "
        f"{PAIRS} pairs)",
    )
    add(
        "--perf-margin",
        type=positive,
        default=5.0,
        metavar="PERCENT",
        help="smallest change that matters; by case in perf/margins.toml (default: %(default)s)",
    )
    add(
        "--perf-inconclusive",
        choices=("warn", "fail"),
        default="warn",
        help="whether an undecided case leaves the run green (default: %(default)s)",
    )
    add(
        "--perf-against",
        action="append",
        default=[],
        metavar="SPEC",
        help="measure side by side with another environment, the baseline: a pip requirement, -r FILE, python==X.Y, an "
        "interpreter, or VARIABLE=value; may be repeated, all of it describes one side",
    )
    add(
        "--perf-candidate",
        action="append",
        default=[],
        metavar="SPEC",
        help="the other side of --perf-against, in the same form (default: the environment in which pytest runs)",
    )
    add("--perf-workloads", metavar="FILE", help="measure the workloads of this TOML file, not the built-in ones")
    add(
        "--perf-report",
        metavar="DIR",
        help="write a page to look at (index.html), its summary (summary.md) and its data (report.json) into DIR",
    )
    add(
        "--perf-expectations",
        metavar="FILE",
        help="check the expectations of this TOML file as well; perf/expectations.toml shows the form",
    )
    add(
        "--perf-timeout",
        type=positive,
        default=120.0,
        metavar="SECONDS",
        help="time limit of one request to a worker: opening a case, or a block of rounds (default: %(default)s)",
    )
    add(
        "--perf-budget",
        type=duration,
        metavar="TIME",
        help="stop measuring after this long, such as 90s, 20m or 2h; what was not measured is named, and not green",
    )
    add(
        "--perf-gpu",
        metavar="INDEX|UUID",
        help="the one GPU that is used (default: the baseline's, else the first idle one; not one that "
        "CUDA_VISIBLE_DEVICES hides)",
    )
    add(
        "--perf-seed",
        type=int,
        metavar="N",
        help="seed of the order in which the processes measure the cases (default: drawn; it is printed and stored)",
    )
