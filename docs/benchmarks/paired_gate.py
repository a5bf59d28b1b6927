"""What ``--perf-against`` finds and how often it is red without a cause, on simulated sessions of twelve cases.

    python docs/benchmarks/paired_gate.py [SESSIONS]

Six pairs, then the confirmation. The spread is that of one process's level; what the rounds add is a third of the
margin, as the stopping rule has it. One case of each session is slower; the other eleven are unchanged.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from perf.harness.records import Verdict
from tests.harness.test_simulated_paired import verdicts


def main() -> None:
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("change  margin  spread of processes  found  false reds")
    for slower, margin in ((0.10, 5.0), (0.05, 2.0), (0.25, 5.0)):
        for spread in (0.0, 0.01, 0.02, 0.03):
            found = verdicts(7, spread, slower=slower, percent=margin, sessions=sessions)
            right = sum(session[0] is Verdict.REGRESSED for session in found) / sessions
            others = [verdict for session in found for verdict in session[1:]]
            wrong = sum(verdict.is_red for verdict in others)
            print(f"{slower:6.0%}  {margin:4.0f} %  {spread:19.0%}  {right:5.1%}  {wrong} of {len(others)}", flush=True)


if __name__ == "__main__":
    main()
