"""How many digits of a measured number are kept. Pure."""

from __future__ import annotations

_SIGNIFICANT = 7


def kept(number: float) -> float:
    """``number`` with seven significant digits, far more than any clock or counter here resolves.

    Applied where a number is measured and not where it is written: what a session judges and says is then, to the last
    digit, what its files hold and what a later report says of them.
    """
    return float(f"{number:.{_SIGNIFICANT}g}")
