"""The seconds per step that a worker reports, against a hand-written tight loop of the same step in one process.

    python docs/benchmarks/overhead.py [CASE ...] [--pairs N]

Both time the same open case in turn (ABBA), with the same number of calls and the device drained at both ends. Prints
the median over pairs of reported / hand-written, with the 95 % interval of the median (binomial, distribution-free).
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from lstm_models import workloads
from lstm_models.case import Case
from lstm_models.engine import Engine

CASES = (
    "forward[translation-b1-cpu-xla-float32]",
    "forward[translation-b1-cpu-loop-float32]",
    "forward[translation-b32-cpu-loop-float32]",
    "backward[translation-b1-cpu-xla-float32]",
    "fit[translation-b32-cpu-loop-float32]",
    "predict[translation-b1-cpu-loop-float32]",
)


def hand_written(engine: Engine, calls: int) -> float:
    """What somebody would write by hand around the very same callable."""
    import tensorflow as tf

    call = engine._open.step.call
    tf.test.experimental.sync_devices()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    tf.test.experimental.sync_devices()
    return time.perf_counter() - start


def interval(values: list[float]) -> tuple[float, float]:
    from scipy.stats import binom

    values = sorted(values)
    skip = int(binom.ppf(0.025, len(values), 0.5))
    return values[skip], values[-1 - skip]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", default=CASES)
    parser.add_argument("--pairs", type=int, default=200)
    arguments = parser.parse_args()
    engine = Engine()
    engine.warm_up()
    for key in arguments.cases:
        engine.open(Case.parse(key, workloads.builtin()).to_plain())
        once = statistics.median(engine.run(1, 1)["seconds"][0] for _ in range(20))
        calls = max(1, round(0.02 / once))
        ratios = []
        for pair in range(arguments.pairs):
            if pair % 2:
                ours, theirs = engine.run(1, calls)["seconds"][0], hand_written(engine, calls)
            else:
                theirs, ours = hand_written(engine, calls), engine.run(1, calls)["seconds"][0]
            ratios.append(ours / theirs)
        low, high = interval(ratios)
        print(
            f"{key}: reported / hand-written {statistics.median(ratios):.4f} (95 % {low:.4f} to {high:.4f}), "
            f"{arguments.pairs} pairs of {calls} calls, {once * 1e3:.3g} ms per call",
            flush=True,
        )
        engine.close()


if __name__ == "__main__":
    main()
