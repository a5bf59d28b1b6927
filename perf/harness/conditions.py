"""Under which conditions timed rounds ran: what was read of the host around them, and how it adds up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from perf.harness.digits import kept

_Number = TypeVar("_Number", int, float)


class Counter(StrEnum):
    """What an energy counter counts: the GPU's board, or the packages of all CPUs."""

    GPU = "gpu"
    CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Energy:
    """What a counter counted while so many ``rounds`` ran, which took ``seconds``; nothing is taken off for idling."""

    counter: Counter
    joules: float
    seconds: float
    rounds: int

    @property
    def watts(self) -> float:
        return self.joules / self.seconds


@dataclass(frozen=True, slots=True)
class Conditions:
    """``blocks_void``: why, one text for each block of rounds that was void and was repeated. ``notes`` were seen and
    make nothing void. The rest are extremes over all readings, ``None`` on a CPU."""

    blocks_void: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    energy: tuple[Energy, ...] = ()
    sm_clock_mhz_lowest: int | None = None
    sm_clock_mhz_highest: int | None = None
    celsius_highest: int | None = None
    watts_highest: float | None = None


def merged(parts: Iterable[Conditions | None]) -> Conditions | None:
    """Those of several blocks as if they had been one; ``None`` where nothing was watched."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    return Conditions(
        blocks_void=tuple(why for part in found for why in part.blocks_void),
        notes=tuple(dict.fromkeys(note for part in found for note in part.notes)),
        energy=tuple(one for counter in Counter if (one := _added(found, counter)) is not None),
        sm_clock_mhz_lowest=extreme(min, (part.sm_clock_mhz_lowest for part in found)),
        sm_clock_mhz_highest=extreme(max, (part.sm_clock_mhz_highest for part in found)),
        celsius_highest=extreme(max, (part.celsius_highest for part in found)),
        watts_highest=extreme(max, (part.watts_highest for part in found)),
    )


def extreme(choose: Callable[[list[_Number]], _Number], values: Iterable[_Number | None]) -> _Number | None:
    """The smallest or largest of what is known; ``None`` where nothing is."""
    known = [value for value in values if value is not None]
    return choose(known) if known else None


def _added(parts: list[Conditions], counter: Counter) -> Energy | None:
    """``None`` where a block was not counted: a part of the rounds says nothing of all."""
    found = [one for part in parts for one in part.energy if one.counter is counter]
    if len(found) < len(parts):
        return None
    return Energy(
        counter,
        kept(sum(one.joules for one in found)),
        kept(sum(one.seconds for one in found)),
        sum(one.rounds for one in found),
    )
