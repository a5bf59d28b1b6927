"""How often expectations are broken without a cause, and what they find, on simulated sessions of 24.

    python docs/benchmarks/expectations.py [SESSIONS]

Six processes. The spread is that of one contender's level in a process; the rounds add a third of 15 %, as the stopping
rule has it. One promise of each session is missed by the factor shown; the other 23 are just kept, which is the worst
case for a false break. Crossings: five sizes, each four times the one before, a true crossing between the third and
the fourth.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from perf.harness.expectation_records import State
from tests.harness.test_simulated_crossover import crossings, sessions


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print("spread of processes  missed by  broken  falsely broken sessions")
    for spread in (0.0, 0.02, 0.05, 0.10):
        for missed in (1.10, 1.25, 1.50, 2.0):
            first, others = sessions(11, spread, missed, count)
            found = first.count(State.BROKEN) / count
            size = len(others) // count
            false = sum(State.BROKEN in others[at * size : (at + 1) * size] for at in range(count))
            print(f"{spread:19.0%}  {missed:9.2f}  {found:6.1%}  {false} of {count}", flush=True)
    print("\nspread of processes  slope per size  interval holds the crossing  has both ends")
    for spread in (0.02, 0.05, 0.10):
        for slope in (0.1, 0.3, 0.0):
            covered, closed = crossings(12, spread, slope, count)
            print(f"{spread:19.0%}  {slope:14.1f}  {covered:27.1%}  {closed:13.1%}", flush=True)


if __name__ == "__main__":
    main()
