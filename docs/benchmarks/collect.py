"""What ``pytest perf --collect-only -q`` adds to an empty start of pytest.

    python docs/benchmarks/collect.py [PAIRS]

The two commands run in turn, so that a change of the machine's speed meets both. Prints the median of the paired
differences in seconds with their range.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def seconds(args: list[str], cwd: Path) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "pytest", *args], cwd=cwd, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    with tempfile.TemporaryDirectory() as empty:
        Path(empty, "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        both = [
            (
                seconds(["perf", "--collect-only", "-q"], ROOT),
                seconds(["--collect-only", "-q", "--rootdir", empty], Path(empty)),
            )
            for _ in range(pairs + 1)
        ][1:]  # the first pair fills the caches
    added = [ours - theirs for ours, theirs in both]
    print(
        f"{pairs} pairs: collecting adds {statistics.median(added):.2f} s (range {min(added):.2f} to {max(added):.2f}) "
        f"to an empty start of {statistics.median(theirs for _, theirs in both):.2f} s"
    )


if __name__ == "__main__":
    main()
