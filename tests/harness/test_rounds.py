import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf.harness import rounds

times = st.floats(1e-6, 100, allow_nan=False)


@given(st.floats(2e-6, 10))
def test_a_round_lasts_long_enough_and_not_much_longer(seconds_per_call):
    calls = rounds.calls_for(seconds_per_call)
    assert calls * seconds_per_call >= rounds.ROUND_SECONDS
    assert calls == 1 or (calls - 1) * seconds_per_call < rounds.PROBE_RESERVE * rounds.ROUND_SECONDS


def test_calls_are_bounded():
    assert rounds.calls_for(1e-12) == rounds.MAX_CALLS


def test_slow_rounds_have_short_windows():
    assert rounds.window(0.3) == 5
    assert rounds.window(0.31) == 3


@pytest.mark.parametrize(("seconds", "limit", "count"), [(0.02, 120, 500), (4, 120, 2), (40, 120, 1), (0.5, 4, 2)])
def test_a_request_stays_far_from_its_time_limit(seconds, limit, count):
    assert rounds.per_request(seconds, limit) == count


def test_log_spread_is_the_sd_of_normal_noise_and_deaf_to_outliers():
    draw = random.Random(1)
    seconds = [0.02 * math.exp(draw.gauss(0, 0.1)) for _ in range(2000)]
    assert rounds.log_spread(seconds) == pytest.approx(0.1, rel=0.05)
    assert rounds.log_spread([*seconds, *[9.0] * 100]) == pytest.approx(0.1, rel=0.15)


def test_log_spread_is_within_windows_and_not_between_them():
    assert rounds.log_spread([1.0, 1.0, 1.0], [5.0, 5.0, 5.0]) == 0


def test_log_spread_of_pairs_is_unbiased_enough():
    draw = random.Random(2)
    found = [
        rounds.log_spread([math.exp(draw.gauss(0, 0.1)) for _ in range(2)], [math.exp(draw.gauss(0, 0.1)), 1.0])
        for _ in range(2000)
    ]
    assert 0.08 < statistics.fmean(found) < 0.13


@pytest.mark.parametrize(
    ("before", "after", "steady"),
    [
        ([1.0] * 5, [1.0] * 5, True),
        ([1.0] * 5, [0.953] * 5, True),  # within the margin
        ([1.0] * 5, [0.94] * 5, False),  # quiet, and beyond it
        ([1.0] * 5, [1.06] * 5, False),  # becoming slower is no steady state either
        ([1.0, 1.2, 0.8, 1.1, 0.9], [0.94, 1.15, 0.75, 1.04, 0.84], True),  # beyond it, but within the noise
        ([2.0, 2.2, 1.8, 2.1, 1.9], [1.0, 1.2, 0.8, 1.1, 0.9], False),  # beyond the noise
        ([1.0, 1.0], [0.99, 0.98], True),
        ([1.0, 1.0], [0.9, 0.9], False),
    ],
)
def test_windows_agree_within_margin_or_noise(before, after, steady):
    assert rounds.agree(before, after, 0.05) is steady
    assert rounds.agree(after, before, 0.05) is steady


def test_a_wider_margin_agrees_earlier():
    assert not rounds.agree([1.0] * 5, [0.9] * 5, 0.05)
    assert rounds.agree([1.0] * 5, [0.9] * 5, 0.2)


@pytest.mark.parametrize(("spread", "at_least"), [(0.02, 0.99), (0.05, 0.85), (0.15, 0.8)])
def test_equal_windows_agree_nearly_always(spread, at_least):
    draw = random.Random(3)

    def window() -> list[float]:
        return [math.exp(draw.gauss(0, spread)) for _ in range(rounds.WINDOW)]

    agreed = sum(rounds.agree(window(), window(), 0.05) for _ in range(1000))
    assert agreed >= 1000 * at_least


@pytest.mark.parametrize(
    ("windows", "count", "seconds", "over"),
    [
        (3, 60, 9.0, False),  # a few windows are always compared
        (4, 20, 0.4, False),
        (4, 20, 3.0, True),
        (12, 60, 1.2, True),
    ],
)
def test_when_waiting_for_a_steady_state_ends(windows, count, seconds, over):
    assert rounds.never_steady(windows, count, seconds) is over


def noisy(count: int, seconds: float, spread: float) -> list[float]:
    """Rounds whose robust spread is exactly known: half above and half below."""
    return [seconds * math.exp(spread if number % 2 else -spread) for number in range(count)]


def test_ten_rounds_are_the_least():
    assert rounds.more_rounds([], 0.02, 0.05) == 10
    assert rounds.more_rounds([0.02] * 7, 0.02, 0.05) == 3
    assert rounds.more_rounds([0.02] * 10, 0.02, 0.05) == 0


def test_five_slow_rounds_are_enough_though_their_time_is_spent():
    assert rounds.more_rounds([], 5.0, 0.05) == 5
    assert rounds.more_rounds([5.0], 5.0, 0.05) == 4
    assert rounds.more_rounds(noisy(5, 5.0, 0.2), 5.0, 0.05) == 0


def test_noise_asks_for_as_many_rounds_as_the_median_needs():
    timed = noisy(10, 0.02, 0.05)
    needed = math.ceil((1.25 * rounds.log_spread(timed) / (math.log(1.05) / 3)) ** 2)
    assert 10 < needed < 75
    assert rounds.more_rounds(timed, 0.02, 0.05) == needed - 10


def test_a_finer_margin_asks_for_more():
    timed = noisy(10, 0.005, 0.03)
    assert rounds.more_rounds(timed, 0.005, 0.02) > rounds.more_rounds(timed, 0.005, 0.05)


def test_no_more_than_120_rounds():
    assert rounds.more_rounds(noisy(100, 0.001, 0.5), 0.001, 0.05) == 20
    assert rounds.more_rounds(noisy(120, 0.001, 0.5), 0.001, 0.05) == 0


def test_no_more_than_the_time_share():
    timed = noisy(10, 0.1, 0.5)
    assert rounds.more_rounds(timed, 0.1, 0.05) == math.ceil((1.5 - sum(timed)) / statistics.median(timed))
    assert rounds.more_rounds(noisy(16, 0.1, 0.5), 0.1, 0.05) == 0


@given(st.lists(times, min_size=10, max_size=130), st.floats(0.001, 0.5))
def test_rounds_asked_for_stay_in_bounds(timed, margin):
    more = rounds.more_rounds(timed, statistics.median(timed), margin)
    assert more >= 0
    assert len(timed) + more <= max(rounds.MAX_ROUNDS, len(timed))


def test_with_two_sides_the_spread_of_their_ratio_decides_and_the_slower_sides_time_counts():
    draw = random.Random(7)
    noisy = [0.02 * math.exp(draw.gauss(0, 0.15)) for _ in range(20)]
    assert rounds.more_rounds(noisy, 0.02, 0.05) > 0
    assert rounds.more_rounds(noisy, 0.02, 0.05, [1.0] * 20) == 0
    ratios = [value / 0.02 for value in noisy]
    assert rounds.more_rounds([0.02] * 20, 0.02, 0.05, ratios) > 0
    assert rounds.more_rounds([0.2] * 20, 0.2, 0.05, ratios) == 0  # 4 s are more than its share
