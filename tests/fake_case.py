"""What the fake worker reads in a case's payload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lstm_models import kernels
from lstm_models.case import Case


def key_of(case: Mapping[str, Any]) -> str:
    """A payload's key: its own, else that of the real case which it is."""
    if "key" in case:
        return str(case["key"])
    return Case.from_plain(case).key


def steps_per_call(case: Mapping[str, Any]) -> int:
    """A payload's own, else that of the real case which it is; 1 where it is neither."""
    if "steps_per_call" in case:
        return int(case["steps_per_call"])
    return Case.from_plain(case).steps_per_call if is_real(case) else 1


def proved(case: Mapping[str, Any]) -> str:
    """The kernel that a proof would find where all goes well."""
    asked = str(case.get("kernel", "loop"))
    return (kernels.expected(Case.from_plain(case)) if is_real(case) else None) or asked


def is_real(case: Mapping[str, Any]) -> bool:
    """Whether it is the payload of a :class:`lstm_models.case.Case`, and not one that a test made up."""
    return isinstance(case.get("workload"), Mapping)
