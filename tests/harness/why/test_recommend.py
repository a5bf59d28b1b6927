"""What to use at a batch: the fastest, ties, cost lines, and what was not measured."""

from __future__ import annotations

import pytest

from perf.harness.report.why import recommended
from perf.harness.why.curves import Source
from perf.harness.why.recommend import recommend, recommendations
from tests.harness.why.makers import costing, curve, who

CPU = curve(who("xla"), costing(1e-4, 1e-5))
GPU = curve(who("cudnn", "gpu"), costing(1e-3, 1e-7))


def test_the_device_flips_where_the_costs_cross() -> None:
    assert [recommend([CPU, GPU], batch).best for batch in (1, 32, 256)] == [CPU.who, CPU.who, GPU.who]
    found = recommend([CPU, GPU], 256)
    assert found.then == CPU.who
    assert found.change is not None
    assert found.change.ratio == pytest.approx((1e-4 + 256e-5) / (1e-3 + 256e-7))


def test_who_is_not_slower_beyond_chance_is_as_fast() -> None:
    loop = curve(who(), costing(1.005e-4, 1.005e-5))
    found = recommend([CPU, loop, GPU], 1)
    assert found.best == CPU.who
    assert found.ties == (loop.who,)
    assert found.then == GPU.who
    assert found.tie_within == pytest.approx(1.03, abs=0.02)
    assert recommended(found).splitlines()[:2] == ["xla on cpu", "or loop on cpu, within 2.8 %"]


def test_one_process_leaves_everything_open() -> None:
    curves = [curve(who(), {1: 1e-3}), curve(who("xla"), {1: 2e-3})]
    for each in curves:
        each.seconds[1] = {1: each.seconds[1][1]}  # type: ignore[index]
    found = recommend(curves, 1)
    assert (found.best, found.ties, found.open) == (who(), (), (who("xla"),))
    assert "xla on cpu: cannot tell" in recommended(found)


def test_who_may_be_much_slower_is_open_and_no_tie() -> None:
    loop = curve(who(), {1: 1.2e-3}, spread=0.5)
    xla = curve(who("xla"), {1: 1e-3}, spread=0.5)
    found = recommend([xla, loop], 1)
    assert (found.best, found.ties, found.then, found.open) == (who("xla"), (), None, (who(),))


def test_inside_the_measured_range_the_cost_line_stands_in() -> None:
    on_grid = curve(who("xla"), costing(1e-4, 1e-5, (1, 8, 64)))
    other = curve(who(), costing(1e-3, 1e-5, (1, 8, 64)))
    found = recommend([on_grid, other], 32)
    assert found.estimated
    assert found.change is not None
    assert found.change.ratio == pytest.approx((1e-3 + 32e-5) / (1e-4 + 32e-5), rel=0.05)
    assert "xla on cpu (by cost line)" in recommended(found)


def test_outside_the_measured_range_nothing_is_said() -> None:
    small = curve(who(), costing(1e-3, 1e-5, (1, 8, 64)))
    assert recommend([small, small], 256).best is None
    assert recommended(recommend([small], 256)) == "not measured"


def test_two_batches_have_no_line() -> None:
    assert recommend([curve(who(), costing(1e-3, 1e-5, (1, 64)))], 32).best is None


def test_times_of_two_stages_are_not_compared() -> None:
    cases = curve(who(), {1: 1e-6}, source=Source.CASES)
    assert recommend([CPU, GPU, cases], 1).best == CPU.who
    both = [cases, curve(who("unrolled"), {1: 2e-6}, source=Source.CASES)]
    assert recommend([CPU, *both], 1).best == cases.who
    assert recommend([CPU, GPU, *both], 1).best == CPU.who


def test_what_the_framework_chooses_is_no_choice_of_its_own() -> None:
    auto = curve(who("auto"), costing(1e-5, 1e-6))
    assert recommend([auto, CPU], 1).best == CPU.who
    assert recommend([auto, GPU], 1).best == auto.who


def test_without_a_choice_nothing_is_recommended() -> None:
    assert recommendations([CPU, curve(who("xla", path="fit"), {1: 1e-3})]) == {}
    assert list(recommendations([CPU, GPU])) == [("w", "forward", "float32", "")]
