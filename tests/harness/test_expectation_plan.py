"""Which contenders are measured next to each other, and in which order."""

from __future__ import annotations

from perf.harness.expectation_plan import Entrant, Lane, groups, meeting, order
from perf.harness.expectation_records import Contender
from perf.harness.paired_evidence import Metric
from tests.harness.expectation_makers import contender, expectation

CPU, GPU = Lane("cpu"), Lane("gpu")


def among(*names: str, lane: Lane = CPU) -> set[Entrant]:
    return {Entrant(lane, f"{name}-1") for name in names}


def against(first: str, second: str, **changes):
    return expectation(f"{first}-{second}", first=contender(first, (1,)), second=contender(second, (1,)), **changes)


def test_who_shares_a_contender_shares_a_group():
    found = groups([against("a", "b"), against("b", "c"), against("d", "e")])
    assert [set(group.entrants) for group in found] == [among("a", "b", "c"), among("d", "e")]
    assert all(group.timed for group in found)


def test_each_size_is_a_group_of_its_own():
    sizes = (1, 8, 64)
    assert len(groups([expectation(sizes=sizes)])) == 3


def test_the_order_of_expectations_does_not_matter():
    some = [against("a", "b"), against("c", "d"), against("b", "c")]
    assert groups(some) == groups(list(reversed(some)))


def test_first_calls_and_memory_are_measured_alone():
    timed, once = groups([against("a", "b"), against("a", "c", metric=Metric.FIRST_CALL)])
    if not timed.timed:
        timed, once = once, timed
    assert set(timed.entrants) == among("a", "b")
    assert (set(once.entrants), once.timed) == (among("a", "c"), False)


def test_a_group_has_two_lanes_at_most():
    """Else three workers would be alive: what shares a contender only is measured again."""
    some = [
        expectation("1", first=contender("a", (1,)), second=contender("g", (1,), "gpu")),
        expectation("2", first=contender("g", (1,), "gpu"), second=contender("a", (1,), TF_ENABLE_ONEDNN_OPTS="0")),
        expectation("3", first=contender("g", (1,), "gpu"), second=contender("h", (1,), "gpu")),
    ]
    found = groups(some)
    assert sorted(len(group.lanes) for group in found) == [1, 2, 2]
    assert max(len(group.entrants) for group in found) == 2


def test_variables_make_a_lane():
    one = expectation(second=Contender("b", "cpu", {1: "a-1"}, {"OMP_NUM_THREADS": "1"}))
    first, second = meeting(one, 1)
    assert (first.key, second.key) == ("a-1", "a-1")
    assert first != second
    assert second.lane.words == "cpu with OMP_NUM_THREADS=1"
    assert second.lane.side.variables == {"OMP_NUM_THREADS": "1"}


def test_skipped_ones_are_not_measured():
    assert groups([expectation(skip="no gpu")]) == ()


def test_every_process_draws_another_order_of_the_same():
    planned = groups([against(f"{n}", f"{n + 1}") for n in range(0, 12, 2)] + [against("a", "b"), against("b", "c")])
    drawn = [order(planned, process, seed=5) for process in (1, 2, 3)]
    assert drawn == [order(planned, process, seed=5) for process in (1, 2, 3)]
    assert len({tuple(group.id for group in one) for one in drawn}) == 3
    assert all({group.id for group in one} == {group.id for group in planned} for one in drawn)
    assert all(group.pairs for group in drawn[0])


def test_groups_of_one_lane_follow_those_that_have_its_worker():
    some = [
        expectation("both", first=contender("a", (1,)), second=contender("g", (1,), "gpu")),
        expectation("gpu", first=contender("h", (1,), "gpu"), second=contender("i", (1,), "gpu")),
        expectation("threads", first=contender("a", (1,), X="1"), second=contender("b", (1,), X="1")),
    ]
    for process in range(1, 9):
        lanes = [group.lanes for group in order(groups(some), process, 1)]
        assert lanes.index((GPU,)) == lanes.index((CPU, GPU)) + 1


def test_without_a_contender_its_partners_stay_where_they_have_another():
    (group,) = groups([against("a", "b"), against("b", "c"), against("c", "d")])
    left = group.without({Entrant(CPU, "a-1")})
    assert set(left.entrants) == among("b", "c", "d")
    assert left.worth_it
    assert not group.without(among("b", "c")).worth_it
