"""Files written whole or not at all; values as strict JSON."""

from __future__ import annotations

import json
import math
import os
import re
import tempfile
from collections.abc import Mapping, Set
from enum import Enum
from pathlib import Path
from typing import Any

_LIST_OF_NUMBERS = re.compile(r"\[\n[-+0-9.eE,\s]+\]")


def plain(value: Any) -> Any:
    """``value`` as what JSON can hold: numbers stay numbers, what has no JSON form becomes its text.

    For what others put into the file: pytest-benchmark's options hold Decimal and would be stored as UNSERIALIZABLE.
    A number that is not finite becomes ``None``: missing is ``None``.
    """
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    try:  # float, Decimal, Fraction, NumPy scalars
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else None


def dump(value: Any) -> str:
    """Indented JSON with lists of numbers on one line; ``ValueError`` for NaN, ``TypeError`` for what is not plain."""
    text = json.dumps(value, indent=1, allow_nan=False, ensure_ascii=False)
    # A string holds no raw newline, so the pattern cannot match inside one.
    return _LIST_OF_NUMBERS.sub(lambda match: re.sub(r"\s+", "", match[0]).replace(",", ", "), text) + "\n"


def write_whole(path: Path, value: Any) -> None:
    """Writes ``value`` as JSON so that ``path`` holds the old content or all of the new, whatever happens."""
    write_text_whole(path, dump(value))


def write_text_whole(path: Path, text: str) -> None:
    """Writes ``text`` so that ``path`` holds the old content or all of the new, whatever happens."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())  # mkstemp makes files that only their owner reads
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # else the new name may be lost with the power
    finally:
        os.close(folder)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
