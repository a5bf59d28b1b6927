"""Command-line options, read once into a frozen record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from perf.harness.errors import Refusal
from perf.harness.suite import PROFILES


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for, validated. ``compare`` is ``None``, ``True`` (the baseline) or the name of a run."""

    profile: str
    device: str
    require: str | None
    processes: int
    margin_percent: float
    fail_inconclusive: bool
    workloads: Path | None
    timeout_seconds: float
    seed: int | None
    compare: bool | str | None
    saves: bool

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
        # pytest-benchmark's option takes an optional value, so in this order it swallows the folder.
        if isinstance(compare, str) and compare.rstrip("/") == "perf":
            raise Refusal(
                "--benchmark-compare took 'perf' as the name of a run, because it stood right before it. Write "
                "'pytest perf --benchmark-compare' (folder first), or '--benchmark-compare=RUN perf'."
            )
        workloads = get("perf_workloads")
        return cls(
            profile=get("perf_profile"),
            device=get("perf_device"),
            require=get("perf_require"),
            processes=get("perf_processes"),
            margin_percent=get("perf_margin"),
            fail_inconclusive=get("perf_inconclusive") == "fail",
            workloads=None if workloads is None else (config.invocation_params.dir / workloads).resolve(),
            timeout_seconds=get("perf_timeout"),
            seed=get("perf_seed"),
            compare=compare,
            saves=bool(get("benchmark_save") or get("benchmark_autosave")),
        )


def add_options(parser: pytest.Parser) -> None:
    """Adds the ``--perf-*`` options."""
    group = parser.getgroup("lstm-perf", "performance of LSTMs")
    add = group.addoption
    add("--perf-profile", choices=PROFILES, default="smoke", help="which cases (default: %(default)s)")
    add(
        "--perf-device",
        choices=("auto", "cpu", "gpu"),
        default="auto",
        help="auto: cpu, and gpu where NVML lists one (default: %(default)s)",
    )
    add("--perf-require", choices=("cpu", "gpu"), metavar="DEVICE", help="refuse to measure where it is not there")
    add(
        "--perf-processes",
        type=_positive_integer,
        default=3,
        metavar="K",
        help="independent processes, each measuring every case (default: %(default)s)",
    )
    add(
        "--perf-margin",
        type=_positive,
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
    add("--perf-workloads", metavar="FILE", help="measure the workloads of this TOML file, not the built-in ones")
    add(
        "--perf-timeout",
        type=_positive,
        default=120.0,
        metavar="SECONDS",
        help="time limit of one request to a worker: opening a case, or a block of rounds (default: %(default)s)",
    )
    add(
        "--perf-seed",
        type=int,
        metavar="N",
        help="seed of the order in which the processes measure the cases (default: drawn; it is printed and stored)",
    )


def _positive_integer(text: str) -> int:
    # argparse turns a ValueError into its own usage message, naming the option and the text.
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


_positive_integer.__name__ = "whole number above 0"
_positive.__name__ = "number above 0"


def collects_only(config: pytest.Config) -> bool:
    """Whether no test body will run: nothing is measured then either."""
    return bool(config.option.collectonly or config.option.setuponly or config.option.setupplan)


def will_run(config: pytest.Config) -> bool:
    """Whether the tests run and their benchmarks are on."""
    disabled = config.option.benchmark_disable and not config.option.benchmark_enable
    return not collects_only(config) and not disabled and not config.option.benchmark_skip


def refuse_parallel(config: pytest.Config) -> None:
    """Raises :class:`Refusal` under pytest-xdist, and for a comparison with benchmarks switched off."""
    if config.getoption("dist", "no") != "no" or config.getoption("numprocesses", None):
        raise Refusal(
            "perf/ will not measure or gate under pytest-xdist (-n): cases that run side by side slow each other "
            "down. Run it without -n; nothing was measured."
        )
    if config.option.benchmark_compare and not (will_run(config) or collects_only(config)):
        raise Refusal(
            "--benchmark-compare with --benchmark-disable or --benchmark-skip: there would be nothing to compare, "
            "and nothing measured is never green. Drop one of the two."
        )


def take_over_benchmark_options(config: pytest.Config) -> Path:
    """Switches off pytest-benchmark's own comparison and tables; returns the folder of stored runs.

    Its comparison passes silently on a missing, renamed or truncated baseline. A relative storage is taken from the
    root of the checkout, so that ``pytest perf`` and ``pytest`` inside perf/ keep one history.
    """
    option = config.option
    option.benchmark_compare = None
    option.benchmark_quiet = True
    storage = option.benchmark_storage
    scheme, _, folder = storage.rpartition("://")
    if scheme not in ("", "file"):
        raise Refusal(f"--benchmark-storage {storage}: runs are kept in files; give a folder.")
    path: Path = (config.rootpath / folder).resolve()
    option.benchmark_storage = f"file://{path}"
    return path
