"""What the gate does on seeded noise: false alarms and what it finds. Bounds leave room for the count."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perf.harness.records import Verdict
from perf.harness.spread import ASSUMED_SD, RUNS_TO_ESTIMATE, SMALLEST_SD
from perf.harness.stats import Spread, shrunk_spreads
from perf.harness.verdict import Evidence, decide_all

CASES = 24


def suites(seed, promoted, history, sd, count, slower=0.0):
    """Share of suites with a false red, and share of suites whose one slower case is red."""
    random = np.random.default_rng(seed)
    false = found = 0
    for _ in range(count):
        past = random.normal(size=(CASES, history)) * np.reshape(sd, (-1, 1))
        now = random.normal(size=CASES) * sd
        now[0] += slower
        verdicts = _verdicts(past, promoted, now)
        false += Verdict.REGRESSED in verdicts[1:]
        found += verdicts[0] is Verdict.REGRESSED
    return false / count, found / count


def _verdicts(past, promoted, now):
    n = past.shape[1]
    keys = range(len(now))
    if n < RUNS_TO_ESTIMATE:
        spreads = {str(key): Spread(ASSUMED_SD, math.inf) for key in keys}
    else:
        detrended = {str(key) for key in keys} if promoted < RUNS_TO_ESTIMATE else set()
        histories = {str(key): list(map(float, past[key])) for key in keys}
        spreads = shrunk_spreads(histories, detrended=detrended, floor=SMALLEST_SD)
    evidence = {
        str(key): Evidence(
            float(now[key] - past[key, :promoted].mean()), spreads[str(key)], promoted, n, math.log(1.05)
        )
        for key in keys
    }
    return [verdict for verdict, _ in decide_all(evidence).values()]


@pytest.mark.parametrize("promoted", [1, 2])
def test_two_runs_at_ten_percent_noise(promoted):
    false, found = suites(1, promoted, promoted, 0.10, 600, slower=math.log(2))
    assert false <= 0.02
    assert found >= 0.6


@pytest.mark.parametrize("sd", [0.002, 0.02, 0.10, 0.20])
@pytest.mark.parametrize("promoted", [1, 3])
def test_three_runs_at_any_noise(sd, promoted):
    false, _ = suites(2, promoted, 3, sd, 600)
    assert false <= 0.06


def test_three_runs_with_cases_of_unequal_noise():
    sd = np.random.default_rng(5).uniform(0.05, 0.22, size=CASES)
    false, _ = suites(3, 3, 3, sd, 600)
    assert false <= 0.06


def test_twice_as_slow_is_found():
    assert suites(4, 3, 3, 0.10, 600, slower=math.log(2))[1] >= 0.75
    assert suites(4, 3, 10, 0.10, 600, slower=math.log(2))[1] >= 0.95
    assert suites(4, 3, 3, 0.05, 600, slower=math.log(2))[1] >= 0.98


def test_ten_percent_is_found_on_a_quiet_machine():
    assert suites(5, 3, 5, 0.01, 600, slower=math.log(1.1))[1] >= 0.95
