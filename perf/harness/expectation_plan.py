"""What has to be measured for a set of expectations, and in which order. Pure.

Contenders that meet at one size share a :class:`Group`: all of its cases are open at once and their rounds take turns,
so that any two of them give one ratio per process, and a case that several expectations ask for is measured once.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from perf.harness.environment import Side
from perf.harness.expectation_records import Contender, Expectation
from perf.harness.paired_evidence import Metric


@dataclass(frozen=True, slots=True, order=True)
class Lane:
    """What a worker runs with: a device, and variables besides the caller's. One process serves all cases of a lane."""

    device: str
    variables: tuple[tuple[str, str | None], ...] = ()

    @property
    def side(self) -> Side:
        return Side(variables=dict(self.variables))

    @property
    def words(self) -> str:
        """``gpu``, ``cpu with TF_ENABLE_ONEDNN_OPTS=0``."""
        settings = " ".join(f"{name}={value}" if value is not None else f"no {name}" for name, value in self.variables)
        return f"{self.device} with {settings}" if settings else self.device


@dataclass(frozen=True, slots=True, order=True)
class Entrant:
    """A case in a lane."""

    lane: Lane
    key: str


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """Entrants that are measured next to each other, in at most two lanes.

    ``timed``: all are open at once and rounds take turns. Else each is opened alone, for its first call and its memory.
    ``pairs`` are those that are compared.
    """

    entrants: tuple[Entrant, ...]
    timed: bool
    pairs: frozenset[tuple[Entrant, Entrant]] = field(compare=False)

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return tuple(sorted({entrant.lane for entrant in self.entrants}))

    @property
    def id(self) -> str:
        """The same in whatever order."""
        among = ", ".join(f"{each.key} {each.lane.words}" for each in sorted(self.entrants))
        return f"{'timed' if self.timed else 'once'}: {among}"

    @property
    def worth_it(self) -> bool:
        """Whether two are left to be compared."""
        return bool(self.pairs)

    def without(self, gone: Collection[Entrant]) -> Group:
        """Without those, and without what they were to be compared with and nobody else is."""
        pairs = frozenset(pair for pair in self.pairs if not any(each in gone for each in pair))
        members = {each for pair in pairs for each in pair}
        return Group(tuple(each for each in self.entrants if each in members), self.timed, pairs)

    @property
    def name(self) -> str:
        """Its first case, and how many there are besides."""
        more = len(self.entrants) - 1
        return self.entrants[0].key + (f" and {more} more" if more else "")


def entrant(contender: Contender, size: int) -> Entrant:
    """Who stands for ``contender`` at ``size``."""
    return Entrant(Lane(contender.device, tuple(sorted(contender.variables.items()))), contender.cases[size])


def meeting(expectation: Expectation, size: int) -> tuple[Entrant, Entrant]:
    """The two that are compared at ``size``."""
    return entrant(expectation.first, size), entrant(expectation.second, size)


def is_timed(expectation: Expectation) -> bool:
    """Whether rounds are needed for it; a first call or a peak needs none."""
    return expectation.metric is Metric.STEP


def groups(expectations: Iterable[Expectation]) -> tuple[Group, ...]:
    """The groups for all ``expectations`` that are not skipped; equal for equal expectations in any order.

    Two meetings share a group where they share a contender and have the same lanes; a group that needed a third lane
    would need three workers alive.
    """
    meetings: dict[tuple[bool, tuple[Lane, ...]], set[tuple[Entrant, Entrant]]] = {}
    for expectation in expectations:
        if expectation.skip is not None:
            continue
        for size in expectation.sizes:
            pair = meeting(expectation, size)
            lanes = tuple(sorted({each.lane for each in pair}))
            meetings.setdefault((is_timed(expectation), lanes), set()).add(pair)
    found = []
    for (timed, _), pairs in meetings.items():
        for members in _connected(pairs):
            among = frozenset(pair for pair in pairs if pair[0] in members)
            found.append(Group(tuple(sorted(members)), timed, among))
    return tuple(sorted(found))


def _connected(pairs: Iterable[tuple[Entrant, Entrant]]) -> list[set[Entrant]]:
    """The entrants, put together where a chain of pairs leads from one to the other."""
    parts: list[set[Entrant]] = []
    for pair in pairs:
        touched = [part for part in parts if part & set(pair)]
        parts = [part for part in parts if part not in touched]
        parts.append(set(pair).union(*touched))
    return parts


def order(planned: Sequence[Group], process: int, seed: int) -> tuple[Group, ...]:
    """The groups in the order drawn for one process, and in each group its entrants; equal seeds give equal draws.

    Groups of two lanes stand before those of one of the two, which can use a worker that is there already.
    """
    draw = random.Random(f"expectations {seed} {process}")
    by_lanes: dict[tuple[Lane, ...], list[Group]] = {}
    for group in planned:
        by_lanes.setdefault(group.lanes, []).append(group)
    drawn: list[tuple[Lane, ...]] = []
    for lanes in draw.sample(sorted(by_lanes), len(by_lanes)):
        if len(lanes) == 2:
            drawn += [lanes, *((lane,) for lane in draw.sample(lanes, len(lanes)) if (lane,) in by_lanes)]
    drawn += draw.sample(sorted(by_lanes), len(by_lanes))
    return tuple(
        Group(tuple(draw.sample(group.entrants, len(group.entrants))), group.timed, group.pairs)
        for lanes in dict.fromkeys(drawn)
        for group in draw.sample(by_lanes[lanes], len(by_lanes[lanes]))
    )
