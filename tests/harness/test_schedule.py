from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf.harness.records import CaseSpec
from perf.harness.schedule import blocks, draw_seed, seconds_left, starters


def spec(key: str, device: str = "cpu") -> CaseSpec:
    return CaseSpec(
        key=key, id=key, path="forward", workload="w", batch=1, device=device, kernel="loop", precision="float32",
        hash="0", steps_per_call=1, keeps_calls=False, expects_kernel="loop", payload={},
    )  # fmt: skip


SPECS = [spec(f"c{number}") for number in range(8)] + [spec(f"g{number}", "gpu") for number in range(3)]


def keys(planned):
    return [(block.process, block.device, [spec.key for spec in block.specs]) for block in planned]


def test_every_process_measures_every_case_once():
    planned = blocks(SPECS, 3, seed=1)
    seen = Counter((block.process, spec.key) for block in planned for spec in block.specs)
    assert seen == Counter((process, spec.key) for process in (1, 2, 3) for spec in SPECS)


def test_processes_are_the_outer_loop_and_a_device_comes_once_in_each():
    planned = blocks(SPECS, 3, seed=1)
    assert [block.process for block in planned] == [1, 1, 2, 2, 3, 3]
    assert all({one.device, two.device} == {"cpu", "gpu"} for one, two in zip(planned[::2], planned[1::2], strict=True))
    assert all(spec.device == block.device for block in planned for spec in block.specs)


def test_the_order_is_the_seeds_and_not_the_collections():
    assert keys(blocks(SPECS, 3, seed=1)) == keys(blocks(SPECS[::-1], 3, seed=1))
    assert keys(blocks(SPECS, 3, seed=1)) != keys(blocks(SPECS, 3, seed=2))


def test_each_process_has_its_own_order():
    orders = {tuple(spec.key for spec in block.specs) for block in blocks(SPECS, 5, seed=3) if block.device == "cpu"}
    assert len(orders) == 5


def test_each_device_comes_first_in_some_process():
    first = {block.device for block in blocks(SPECS, 20, seed=4)[::2]}
    assert first == {"cpu", "gpu"}


def test_no_cases_no_blocks():
    assert blocks([], 3, seed=1) == ()


def test_seeds_differ():
    assert len({draw_seed() for _ in range(20)}) == 20


def test_seconds_left_takes_a_cases_own_time_else_the_mean():
    assert seconds_left(["a", "a", "new"], {"a": 2.0, "b": 6.0}) == pytest.approx(2 + 2 + 4)


def test_nothing_seen_no_estimate():
    assert seconds_left(["a"], {}) is None


@given(st.integers(0, 40), st.integers(0, 2**31))
def test_each_side_begins_in_half_of_any_even_number_of_pairs(pairs, seed):
    drawn = starters(pairs, seed)
    assert len(drawn) == pairs
    assert drawn == starters(pairs, seed)
    assert drawn == starters(pairs + 7, seed)[:pairs]
    assert all({*drawn[i : i + 2]} == {"baseline", "candidate"} for i in range(0, pairs - 1, 2))


def test_who_begins_is_drawn():
    assert len({starters(6, seed) for seed in range(40)}) == 2**3
