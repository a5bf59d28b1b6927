"""Types of command line arguments. argparse and pytest turn a ``ValueError`` of theirs into a usage message that names
the option, the type and the text."""

from __future__ import annotations


def positive_integer(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError(text)
    return value


def duration(text: str) -> float:
    """Seconds."""
    unit = {"s": 1, "m": 60, "h": 3600}
    return positive(text[:-1]) * unit[text[-1]] if text[-1:] in unit else positive(text)


duration.__name__ = "time such as 90s, 20m or 2h"
positive_integer.__name__ = "whole number above 0"
positive.__name__ = "number above 0"
