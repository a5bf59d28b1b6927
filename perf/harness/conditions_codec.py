"""Conditions of a sample to plain JSON values and back, as strictly as :mod:`perf.harness.codec`."""

from __future__ import annotations

from typing import Any

from perf.harness.conditions import Conditions, Counter, Energy
from perf.harness.entry import Entry


def encode_conditions(conditions: Conditions) -> dict[str, Any]:
    return {
        "blocks_void": list(conditions.blocks_void),
        "notes": list(conditions.notes),
        "energy": {
            str(one.counter): {"joules": one.joules, "seconds": one.seconds, "rounds": one.rounds}
            for one in conditions.energy
        },
        "sm_clock_mhz_lowest": conditions.sm_clock_mhz_lowest,
        "sm_clock_mhz_highest": conditions.sm_clock_mhz_highest,
        "celsius_highest": conditions.celsius_highest,
        "watts_highest": conditions.watts_highest,
    }


def decode_conditions(entry: Entry) -> Conditions:
    """Inverse of :func:`encode_conditions`; raises :class:`~perf.harness.errors.Refusal` naming the entry."""
    entry.closed(
        "blocks_void", "notes", "energy", "sm_clock_mhz_lowest", "sm_clock_mhz_highest", "celsius_highest",
        "watts_highest",
    )  # fmt: skip
    watts = entry["watts_highest"]
    return Conditions(
        blocks_void=tuple(why.text() for why in entry["blocks_void"].elements()),
        notes=tuple(note.text() for note in entry["notes"].elements()),
        energy=tuple(_decode_energy(name, one) for name, one in entry["energy"].items()),
        sm_clock_mhz_lowest=_optional(entry["sm_clock_mhz_lowest"]),
        sm_clock_mhz_highest=_optional(entry["sm_clock_mhz_highest"]),
        celsius_highest=_optional(entry["celsius_highest"]),
        watts_highest=None if watts.value is None else watts.number(),
    )


def _decode_energy(name: str, entry: Entry) -> Energy:
    entry.closed("joules", "seconds", "rounds")
    if name not in list(Counter):
        entry.refuse(f"no such entry (known are: {', '.join(Counter)})")
    return Energy(
        Counter(name), entry["joules"].number(), entry["seconds"].positive(), entry["rounds"].integer(minimum=1)
    )


def _optional(entry: Entry) -> int | None:
    return None if entry.value is None else entry.integer()
