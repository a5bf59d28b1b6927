"""Whether rounds on a GPU may be believed, by what was read before and after them. Pure.

A block of rounds is void where the GPU was slowed down by heat or by its power supply, or where another process used
it: such times are those of the room or of a neighbour. What holds for every block alike makes none void: a power cap
is how most GPUs run under load, and clocks that somebody has set are a property of the host.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from perf.harness.conditions import Conditions, extreme
from perf.harness.gpu_reading import Reading

#: NVML's reference: these halve the clocks, or lower them until the GPU is cooler. The plain "hardware slowdown" stands
#: for heat, power brake and too high a draw on older GPUs, and now and then for a mere change of clocks: repeated then.
VOID_REASONS = (
    "hardware slowdown",
    "software thermal slowdown",
    "hardware thermal slowdown",
    "hardware power brake",
)
#: Said where seen; "idle" is what every GPU is between two blocks.
NOTED_REASONS = (
    "application clocks",
    "software power cap",
    "sync boost",
    "display clocks",
    "voltage limit of the board",
    "voltage limit for reliability",
)
#: Another process may use this much: a desktop draws its windows, and NVML rounds to whole percents.
OTHERS_PERCENT = 2
#: A void block is repeated so often, then the case fails: what goes on through four blocks is no accident.
MAX_REPEATS = 3


def why_void(before: Reading, after: Reading, own: frozenset[int]) -> str:
    """Why the rounds between two readings are void, as a clause; "" where they are not. ``own`` are the pids of this
    session's workers on the GPU."""
    for reason in VOID_REASONS:
        if reason in (*before.throttle_reasons, *after.throttle_reasons):
            return f"the GPU was throttled ({reason}{_at(after)})"
    if before.thermal_seconds is not None and after.thermal_seconds is not None:
        slowed = after.thermal_seconds - before.thermal_seconds
        if slowed > 0:
            return f"heat slowed the GPU down for {slowed:.2g} s of it{_at(after)}"
    used = {pid: percent for pid, percent in (after.percent_by_process or {}).items() if percent > OTHERS_PERCENT}
    listed = {*(before.bytes_by_process or {}), *(after.bytes_by_process or {}), *(after.percent_by_process or {})}
    others = _others(used, own, listed)
    if others:
        return f"another process used the GPU ({', '.join(f'pid {pid}: {used[pid]} %' for pid in others)})"
    if after.percent_by_process is None and (holding := _holders(before, own) + _holders(after, own)):
        return (
            f"another process is on the GPU ({', '.join(dict.fromkeys(holding))}), and this driver does not tell "
            "whether it computes"
        )
    return ""


def conditions(before: Reading, after: Reading, own: frozenset[int]) -> Conditions:
    """What is kept of the readings around a block that counts; the energy is added by who knows the block."""
    both = (before, after)
    seen = {reason for reading in both for reason in reading.throttle_reasons}
    notes = [reason for reason in NOTED_REASONS if reason in seen]
    notes += [f"another process waits on the GPU ({holder})" for holder in _holders(after, own)]
    return Conditions(
        notes=tuple(notes),
        sm_clock_mhz_lowest=extreme(min, (reading.sm_clock_mhz for reading in both)),
        sm_clock_mhz_highest=extreme(max, (reading.sm_clock_mhz for reading in both)),
        celsius_highest=extreme(max, (reading.celsius for reading in both)),
        watts_highest=extreme(max, (reading.watts for reading in both)),
    )


def _holders(reading: Reading, own: frozenset[int]) -> list[str]:
    """Compute processes that are not ours, with their memory."""
    held = reading.bytes_by_process or {}
    return [
        f"pid {pid}" if (used := held[pid]) is None else f"pid {pid} with {used / 2**20:.0f} MiB"
        for pid in _others(held, own, held)
    ]


def _others(found: Mapping[int, int | None], own: frozenset[int], listed: Collection[int]) -> list[int]:
    """Those of ``found`` that are not ours, given all that are ``listed``.

    In a container the driver counts pids otherwise than the workers do. Where none of ours is listed, as many are taken
    for ours as there are workers, those with the most.
    """
    if own & set(listed):
        return sorted(set(found) - own)
    most_first = sorted(found, key=lambda pid: (-(found[pid] or 0), pid))
    return sorted(most_first[len(own) :])


def _at(reading: Reading) -> str:
    parts = [
        "" if reading.celsius is None else f"{reading.celsius} °C",
        "" if reading.watts is None else f"{reading.watts:.0f} W",
        "" if reading.sm_clock_mhz is None else f"SM clock {reading.sm_clock_mhz} MHz",
    ]
    return "".join(f", {part}" for part in parts if part)
