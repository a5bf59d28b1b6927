"""A strict cursor over stored JSON: every step knows its file and entry, and says so when it refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from perf.harness.errors import Refusal


@dataclass(frozen=True, slots=True)
class Entry:
    """A value of a stored file and where it stands, e.g. ``cases['forward[...]'].runs[0]``."""

    value: Any
    file: Path
    where: str = ""

    def refuse(self, expected: str) -> NoReturn:
        """Raises :class:`Refusal` naming file, entry, what was expected and what was found."""
        found = repr(self.value) if not isinstance(self.value, dict | list) else type(self.value).__name__
        place = f"entry {self.where}" if self.where else "the file"
        raise Refusal(
            f"{self.file}: {place}: expected {expected}, found {found[:80]}. The file was changed by hand or damaged: "
            "restore it from version control or a copy, or move it away and measure again."
        )

    def __getitem__(self, key: str) -> Entry:
        """The entry under ``key``; refused where it is missing."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        where = self._below(key)
        if key not in self.value:
            raise Refusal(
                f"{self.file}: entry {where} is missing. The file was changed by hand, cut short, or not written by "
                "this suite: restore it from version control or a copy, or move it away and measure again."
            )
        return Entry(self.value[key], self.file, where)

    def _below(self, key: str) -> str:
        if not key.isidentifier():
            return f"{self.where}[{key!r}]"
        return f"{self.where}.{key}" if self.where else key

    def has(self, key: str) -> bool:
        """Whether an optional ``key`` is there."""
        return isinstance(self.value, dict) and key in self.value

    def closed(self, *keys: str) -> Entry:
        """Itself, an object that must have exactly ``keys``."""
        for key in keys:
            self[key]
        if unknown := sorted(set(self.value) - set(keys)):
            self[unknown[0]].refuse(f"no such entry (known are: {', '.join(keys)})")
        return self

    def items(self) -> Iterator[tuple[str, Entry]]:
        """Keys and entries of an object."""
        if not isinstance(self.value, dict):
            self.refuse("an object")
        for key in self.value:
            yield key, self[key]

    def elements(self, at_least: int = 0) -> list[Entry]:
        """Entries of a list."""
        if not isinstance(self.value, list) or len(self.value) < at_least:
            self.refuse(f"a list of at least {at_least}" if at_least else "a list")
        return [Entry(value, self.file, f"{self.where}[{index}]") for index, value in enumerate(self.value)]

    def text(self, allowed: Sequence[str] | None = None) -> str:
        """A string; one of ``allowed`` where they are given."""
        if not isinstance(self.value, str) or (allowed is not None and self.value not in allowed):
            self.refuse("text" if allowed is None else f"one of {', '.join(allowed) or '(there are none)'}")
        return self.value

    def texts(self) -> dict[str, str]:
        """An object of strings."""
        return {key: entry.text() for key, entry in self.items()}

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.refuse("true or false")
        return self.value

    def integer(self, minimum: int | None = 0) -> int:
        """A whole number of at least ``minimum``."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int) or (minimum is not None and value < minimum):
            self.refuse("a whole number" if minimum is None else f"a whole number, {minimum} or more")
        return value

    def number(self) -> float:
        """A finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.refuse("a finite number")
        try:
            number = float(self.value)
        except OverflowError:  # JSON's whole numbers have no limit
            number = math.inf
        if not math.isfinite(number):
            self.refuse("a finite number")
        return number

    def positive(self) -> float:
        """A finite number above 0: a time."""
        value = self.number()
        if value <= 0:
            self.refuse("a number above 0")
        return value

    def date(self) -> datetime:
        """An ISO 8601 date and time with its zone."""
        try:
            date = datetime.fromisoformat(self.text())
        except ValueError:
            date = None
        if date is None or date.tzinfo is None:
            self.refuse("a date with time zone, such as 2025-01-31T12:00:00+00:00")
        return date


def read_json(file: Path) -> Entry:
    """The content of ``file``. Refused: unreadable, empty, cut short, not JSON, NaN or Infinity, a key given twice."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Refusal(f"{file}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{file}: cannot be read: {error}.") from None
    if not text.strip():
        raise Refusal(f"{file}: the file is empty: restore it from version control or a copy, or move it away.")
    return parse_json(text, file)


def parse_json(text: str, file: Path, where: str = "") -> Entry:
    """The value that ``text`` holds, as strictly as :func:`read_json`; ``where`` names the part of ``file`` it is."""
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError) as error:
        place = f"{file}: {where}" if where else f"{file}"
        raise Refusal(
            f"{place}: not valid JSON, perhaps cut short: {error}. Restore it from version control or a copy, or move "
            "it away and measure again."
        ) from None
    return Entry(value, file, where)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number that a measurement can have")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} stands twice")
    for key, value in pairs:
        # 1e999 is legal JSON and reads as infinity.
        if isinstance(value, float) and math.isinf(value):
            raise ValueError(f"{key!r} is larger than any number that a measurement can have")
    return plain
