"""Margins by case, as data."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

from perf.harness.errors import Refusal


def load_margins(file: Path, keys: Iterable[str]) -> dict[str, float]:
    """Percent by case key, for the keys that a pattern of ``file`` matches; the first match counts.

    Raises :class:`Refusal` for a file that is not TOML, a key other than ``margins``, or a margin that is no positive
    number.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Refusal(f"{file}: cannot be read as TOML: {error}") from None
    if unknown := sorted(set(data) - {"margins"}):
        raise Refusal(f"{file}: unknown key {unknown[0]!r}; the only table is [margins].")
    if not isinstance(data.get("margins", {}), dict):
        raise Refusal(f"{file}: margins = {data['margins']!r}: expected a table [margins] of patterns and percentages.")
    patterns: list[tuple[re.Pattern[str], float]] = []
    for pattern, percent in data.get("margins", {}).items():
        if isinstance(percent, bool) or not isinstance(percent, int | float) or not 0 < percent < 1000:
            raise Refusal(f"{file}: margins.{pattern!r} = {percent!r}: expected a percentage above 0, such as 10.")
        patterns.append((re.compile(re.escape(pattern).replace(r"\*", ".*")), float(percent)))
    margins = {}
    for key in keys:
        for pattern, percent in patterns:
            if pattern.fullmatch(key):
                margins[key] = percent
                break
    return margins
