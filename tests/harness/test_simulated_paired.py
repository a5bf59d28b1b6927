"""What the paired gate does on seeded noise: false alarms and what it finds. Bounds leave room for the count.

One pair's difference varies by the level of each of its processes (``process_sd``) and by the rounds inside, which are
timed until their part is at most a third of the margin.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from perf.harness.paired_screen import confirmation_plan, screen
from perf.harness.paired_verdict import decide
from perf.harness.records import Verdict
from perf.harness.verdict import Margins
from tests.harness.makers import key
from tests.harness.paired_makers import environments, paired

CASES = 12


class Noise:
    """Pairs of cases that differ by what is given, a little each time."""

    def __init__(self, seed: int, process_sd: float, percent: float) -> None:
        self.random = np.random.default_rng(seed)
        self.sd = math.hypot(math.sqrt(2) * process_sd, math.log1p(percent / 100) / 3)

    def result(self, number: int, slower: float, pairs: int):
        differences = self.random.normal(math.log1p(slower), self.sd, pairs)
        # One value per process: 12.6 % between processes, so 18 % between the two of a pair.
        firsts = 0.4 * np.exp(self.random.normal(0.0, 0.126, (2, pairs)))
        result = paired([float(difference) for difference in differences], number)
        return _with_first_calls(result, firsts)


def _with_first_calls(result, firsts):
    pairs = tuple(
        replace(
            one,
            baseline=replace(one.baseline, first_call_seconds=float(baseline)),
            candidate=replace(one.candidate, first_call_seconds=float(candidate)),
        )
        for one, baseline, candidate in zip(result.pairs, *firsts, strict=True)
    )
    return replace(result, pairs=pairs)


def verdicts(seed: int, process_sd: float, *, slower: float = 0.0, percent: float = 5.0, sessions: int = 60):
    """All verdicts of so many sessions of twelve cases, the first of which is ``slower`` (a fraction)."""
    noise = Noise(seed, process_sd, percent)
    margins, sides = Margins(percent), environments()
    found = []
    for _ in range(sessions):
        change = {key(number): 0.0 if number else slower for number in range(CASES)}
        first = {name: noise.result(number, change[name], 6) for number, name in enumerate(change)}
        screened = screen(first, margins)
        again = {
            name: noise.result(list(change).index(name), change[name], pairs)
            for name, pairs in confirmation_plan(screened).pairs.items()
        }
        found.append([judgement.verdict for judgement in decide(screened, again, margins, sides).values()])
    return found


@pytest.mark.parametrize(("seed", "process_sd"), [(1, 0.0), (2, 0.01), (3, 0.02)])
def test_no_red_among_unchanged_cases(seed, process_sd):
    found = verdicts(seed, process_sd, sessions=170)
    assert sum(len(session) for session in found) == 2040
    assert not any(verdict.is_red for session in found for verdict in session)


def test_most_unchanged_cases_are_called_so_on_a_quiet_machine():
    found = [verdict for session in verdicts(4, 0.0, sessions=20) for verdict in session]
    assert found.count(Verdict.UNCHANGED) / len(found) > 0.95


@pytest.mark.parametrize(
    ("slower", "percent", "process_sd", "share"),
    [(0.10, 5.0, 0.01, 0.95), (0.10, 5.0, 0.02, 0.9), (0.05, 2.0, 0.01, 0.8), (0.25, 5.0, 0.03, 0.97)],
)
def test_a_slower_case_is_found(slower, percent, process_sd, share):
    found = verdicts(5, process_sd, slower=slower, percent=percent, sessions=60)
    assert sum(session[0] is Verdict.REGRESSED for session in found) / len(found) >= share
    assert not any(verdict.is_red for session in found for verdict in session[1:])
