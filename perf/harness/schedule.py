"""In which order the cases are measured, and how long that will still take. Pure."""

from __future__ import annotations

import random
import secrets
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from perf.harness.paired_records import SIDES, SideName
from perf.harness.records import CaseSpec


@dataclass(frozen=True, slots=True)
class Block:
    """The cases of one worker process: all those of one device, in the order drawn for this process."""

    process: int  # counts from 1
    device: str
    specs: tuple[CaseSpec, ...]


def draw_seed() -> int:
    """A seed for :func:`blocks`, small enough to be typed."""
    return secrets.randbelow(2**31)


def blocks(specs: Sequence[CaseSpec], processes: int, seed: int) -> tuple[Block, ...]:
    """The session's blocks: processes outside, then devices, then cases; equal seeds give equal orders.

    Processes are the outer loop so that each case samples the whole session and a budget that runs out costs every
    case a process instead of some cases all of theirs. A fresh order for each process keeps what a case leaves
    behind in a process (heap, thread pools, clocks) from always falling on the same neighbour.
    """
    draw = random.Random(seed)
    by_device: dict[str, list[CaseSpec]] = {}
    for spec in sorted(specs, key=lambda spec: spec.key):  # the order of collection must not matter
        by_device.setdefault(spec.device, []).append(spec)
    planned = []
    for process in range(1, processes + 1):
        for device in draw.sample(sorted(by_device), len(by_device)):
            cases = by_device[device]
            planned.append(Block(process, device, tuple(draw.sample(cases, len(cases)))))
    return tuple(planned)


def starters(pairs: int, seed: int) -> tuple[SideName, ...]:
    """Which side begins in each pair of processes; equal seeds give equal draws.

    Drawn in twos, one for each side, so that also the first few pairs are balanced: a case may need fewer of them than
    another, and a budget may end early. Whichever process starts first is faster or slower by about a percent.
    """
    draw = random.Random(f"starters {seed}")  # another stream than that of the orders
    drawn: list[SideName] = []
    while len(drawn) < pairs:
        drawn += draw.sample(SIDES, len(SIDES))
    return tuple(drawn[:pairs])


def seconds_left(remaining: Sequence[str], seen: Mapping[str, float]) -> float | None:
    """Seconds for the ``remaining`` case keys (one entry per process), from the seconds that cases took so far.

    A case that was measured before takes as long again; another one takes the mean. ``None``: nothing seen yet.
    """
    if not seen:
        return None
    usual = statistics.fmean(seen.values())
    return sum(seen.get(key, usual) for key in remaining)
