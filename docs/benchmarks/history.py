"""How long a report from many stored runs takes, and how much memory.

    python docs/benchmarks/history.py [--cases 300] [--runs 50 150 500] [--processes 3] [--rounds 30]

Makes run files of made-up numbers in a temporary folder, in the form in which a session stores them, and draws
``python -m perf report`` from them twice, each time in a fresh process: first without a digest beside the runs (every
run is read), then with it. Prints seconds and peak memory of the process, the digest's and the page's size.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from perf.harness.records import CaseResult, Run
from tests.harness import makers

ROOT = Path(__file__).resolve().parents[2]


def case(number: int, slower: float, processes: int, rounds: int, noise: random.Random) -> CaseResult:
    spec = makers.spec(number, path=("forward", "backward", "fit")[number % 3])
    samples = []
    for process in range(processes):
        seconds = 0.001 * (1 + number % 40) * slower * noise.lognormvariate(0, 0.01)
        times = tuple(4 * seconds * noise.lognormvariate(0, 0.02) for _ in range(rounds))
        samples.append(makers.sample(seconds, process, seconds_per_round=times))
    return CaseResult(spec, tuple(samples))


def make_run(number: int, cases: int, processes: int, rounds: int, noise: random.Random) -> Run:
    upgrades = number // 100  # one in a hundred nights
    slower = 1.0 + 0.03 * upgrades
    results = [case(place, slower, processes, rounds, noise) for place in range(cases)]
    return makers.run(results, number, environments={"cpu": makers.environment(f"2.{20 + upgrades}.0")})


def draw(folder: Path, storage: Path) -> tuple[float, float]:
    """Seconds and peak MiB of ``python -m perf report`` in a process of its own."""
    command = [sys.executable, "-m", "perf", "report", str(folder), *(str(path) for path in storage.glob("*.json"))]
    begin = time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command[:5])} ... ended with {process.returncode}")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--runs", type=int, nargs="+", default=[50, 150, 500])
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=30)
    asked = parser.parse_args()
    noise = random.Random(1)
    print(f"{asked.cases} cases, {asked.processes} processes, {asked.rounds} rounds each")
    print("runs  stored MiB  first s  first MiB  later s  later MiB  digest MiB  page MiB")
    with tempfile.TemporaryDirectory() as temporary:
        storage, folder = Path(temporary, "fast-cpu-1a2b"), Path(temporary, "report")
        made = 0
        for runs in sorted(asked.runs):
            for number in range(made + 1, runs + 1):
                makers.store(storage, make_run(number, asked.cases, asked.processes, asked.rounds, noise))
            made = runs
            (storage / "runs.digest").unlink(missing_ok=True)
            first, later = draw(folder, storage), draw(folder, storage)
            stored = sum(path.stat().st_size for path in storage.glob("*.json"))
            sizes = ((storage / "runs.digest").stat().st_size, (folder / "index.html").stat().st_size)
            digest, page = (size / 2**20 for size in sizes)
            print(
                f"{runs:4}  {stored / 2**20:10.0f}  {first[0]:7.1f}  {first[1]:9.0f}  {later[0]:7.1f}  {later[1]:9.0f}"
                f"  {digest:10.1f}  {page:8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
