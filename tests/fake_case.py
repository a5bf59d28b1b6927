"""What the fake worker reads in a case's payload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def key_of(case: Mapping[str, Any]) -> str:
    """A payload's key: its own, else composed as ``lstm_models.case.Case.key`` does."""
    if "key" in case:
        return str(case["key"])
    words = (case["workload"]["name"], f"b{case['batch']}", case["device"], case["kernel"], case["precision"])
    return f"{case['path']}[{'-'.join(words)}]"
