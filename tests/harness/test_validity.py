"""Which rounds on a GPU are believed."""

import dataclasses

import pytest

from perf.harness.gpu_reading import REASONS, Reading
from perf.harness.validity import NOTED_REASONS, OTHERS_PERCENT, VOID_REASONS, conditions, why_void

OWN = frozenset({100})
CALM = Reading(
    sm_clock_mhz=1410,
    celsius=60,
    watts=250.0,
    throttle_reasons=("idle",),
    thermal_seconds=3.0,
    bytes_by_process={100: 2**30},
    percent_by_process={100: 90},
)


def reading(**changes):
    return dataclasses.replace(CALM, **changes)


def test_a_calm_gpu_makes_nothing_void():
    assert why_void(CALM, CALM, OWN) == ""


def test_every_reason_of_nvml_is_decided():
    assert {*VOID_REASONS, *NOTED_REASONS, "idle"} == set(REASONS.values())


@pytest.mark.parametrize("reason", VOID_REASONS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_heat_and_power_supply_make_a_block_void(reason, when):
    throttled = reading(throttle_reasons=("software power cap", reason))
    why = why_void(throttled, CALM, OWN) if when == "before" else why_void(CALM, throttled, OWN)
    assert why == f"the GPU was throttled ({reason}, 60 °C, 250 W, SM clock 1410 MHz)"


@pytest.mark.parametrize("reason", NOTED_REASONS)
def test_what_holds_for_every_block_is_noted(reason):
    capped = reading(throttle_reasons=(reason,))
    assert why_void(capped, capped, OWN) == ""
    assert conditions(CALM, capped, OWN).notes == (reason,)


def test_heat_in_the_middle_of_a_block_shows_in_its_counter():
    assert "heat slowed the GPU down for 0.25 s" in why_void(CALM, reading(thermal_seconds=3.25), OWN)


def test_another_process_that_computes_makes_a_block_void():
    after = reading(percent_by_process={100: 60, 7: 40, 8: OTHERS_PERCENT})
    assert why_void(CALM, after, OWN) == "another process used the GPU (pid 7: 40 %)"


def test_another_process_counts_also_where_ours_has_not_been_sampled_yet():
    assert "pid 7: 40 %" in why_void(CALM, reading(percent_by_process={7: 40}), OWN)


def test_another_process_that_only_waits_is_noted():
    waiting = reading(bytes_by_process={100: 2**30, 7: 300 * 2**20})
    assert why_void(CALM, waiting, OWN) == ""
    assert conditions(CALM, waiting, OWN).notes == ("another process waits on the GPU (pid 7 with 300 MiB)",)


def test_where_the_driver_does_not_tell_who_computes_any_other_process_counts():
    alone = reading(percent_by_process=None)
    assert why_void(alone, alone, OWN) == ""
    visited = reading(percent_by_process=None, bytes_by_process={100: 1, 7: None})
    assert "another process is on the GPU (pid 7)" in why_void(alone, visited, OWN)
    assert "another process is on the GPU (pid 7)" in why_void(visited, alone, OWN)


@pytest.mark.parametrize(("listed", "void"), [([], False), ([51], False), ([51, 52], True)])
def test_in_a_container_as_many_are_ours_as_there_are_workers(listed, void):
    there = reading(percent_by_process=dict.fromkeys(listed, 50), bytes_by_process=dict.fromkeys(listed, 1))
    assert bool(why_void(there, there, OWN)) == void


def test_in_a_container_the_busiest_is_taken_for_ours():
    shared = reading(percent_by_process={51: 10, 52: 80}, bytes_by_process={51: 1, 52: 1})
    assert "pid 51: 10 %" in why_void(shared, shared, OWN)


def test_what_is_not_told_is_missing_and_voids_nothing():
    assert why_void(Reading(), Reading(), OWN) == ""
    assert conditions(Reading(), Reading(), OWN).celsius_highest is None


def test_extremes_over_both_readings_are_kept():
    kept = conditions(reading(sm_clock_mhz=900, celsius=50), reading(watts=300.0), OWN)
    assert (kept.sm_clock_mhz_lowest, kept.sm_clock_mhz_highest) == (900, 1410)
    assert (kept.celsius_highest, kept.watts_highest) == (60, 300.0)
