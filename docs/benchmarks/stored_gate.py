"""What the stored gate finds and how often it is red without a cause, on simulated suites of 24 cases.

    python docs/benchmarks/stored_gate.py [SUITES]

Seeded normal noise of the logarithms of a run's times; one case of each suite is twice as slow. A suite is falsely red
if any of the other 23 is. ``promoted`` runs set the location, ``history`` runs (these included) tell the spread.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.harness.test_simulated_gate import suites


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print("promoted  history  true spread  suites falsely red  twice as slow found")
    for promoted, history in ((1, 1), (1, 3), (3, 3), (3, 6), (3, 20)):
        for spread in (0.02, 0.10, 0.15, 0.22):
            false, found = suites(history, promoted, history, spread, count, slower=math.log(2))
            print(f"{promoted:8}  {history:7}  {spread:11.0%}  {false:18.2%}  {found:19.0%}", flush=True)


if __name__ == "__main__":
    main()
