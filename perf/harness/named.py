"""Which packages a SPEC names, and the text that decides whether two SPECs ask for the same thing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from perf.harness.errors import Refusal
from perf.harness.spec import Spec

_NESTED = re.compile(r"(?P<option>-r|-c|--requirement|--constraint)[\s=]*(?P<file>\S.*)")
_COMMENT = re.compile(r"(^|\s+)#.*$")
_HASH = re.compile(r"\s+--hash[=\s].*$")


@dataclass(frozen=True, slots=True)
class Named:
    """``packages``: requirement by canonical package name. ``texts``: all that was asked, contents of files included;
    equal texts ask for equal environments. A local wheel or source tree is in them with its times of change."""

    packages: Mapping[str, str]
    texts: tuple[str, ...]


def named(spec: Spec) -> Named:
    """What ``spec`` names, files included; raises :class:`Refusal` for unreadable ones."""
    lines = [*spec.requirements]
    texts = [*spec.requirements]
    for file in spec.requirement_files:
        for text, constrains in _files(file, ()):
            texts.append(text)
            if not constrains:
                lines += _lines(text)
    packages = {}
    for line in lines:
        name, location = _package(line)
        if name:
            packages[name] = line
        if location is not None:
            texts.append(_stamp(location))
    return Named(packages, tuple(texts))


def _files(file: Path, above: tuple[Path, ...], constrains: bool = False) -> Iterator[tuple[str, bool]]:
    """The text of a file of requirements and of those that it names, and whether it only constrains (``-c``)."""
    if file in above:
        raise Refusal(f"{file}: names itself through {' -> '.join(map(str, above))}. Take that line out.")
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"{file}: cannot be read as a file of requirements: {error}. Nothing was measured.") from None
    yield text, constrains
    for line in _lines(text):
        if (found := _NESTED.fullmatch(line)) and "://" not in found["file"]:
            nested = (file.parent / found["file"]).absolute()
            yield from _files(nested, (*above, file), constrains or found["option"] in ("-c", "--constraint"))


def _lines(text: str) -> Iterator[str]:
    """The lines of a requirements file without comments, continuations joined."""
    for line in text.replace("\\\n", " ").splitlines():
        line = _HASH.sub("", _COMMENT.sub("", line)).strip()
        if line:
            yield line


def _package(line: str) -> tuple[str, Path | None]:
    """Name and local place of what a line asks for; "" and ``None`` where it says none."""
    try:
        requirement = Requirement(line)
    except InvalidRequirement:
        path = Path(re.sub(r"^(-e|--editable)[\s=]*", "", line).removeprefix("file://"))
        return _of_wheel(path.name), path if path.exists() else None
    url = urlsplit(requirement.url or "")
    local = Path(unquote(url.path)) if url.scheme == "file" else None
    return canonicalize_name(requirement.name), local


def _of_wheel(file: str) -> str:
    try:
        return str(parse_wheel_filename(file)[0])
    except InvalidWheelFilename:
        return ""


def _stamp(place: Path) -> str:
    """Changes when a wheel or a source tree does."""
    if place.is_dir():
        stamps = []
        for folder, folders, files in os.walk(place):
            folders[:] = sorted(name for name in folders if name not in (".git", "__pycache__", "build"))
            stamps += [_stamp(Path(folder) / name) for name in sorted(files)]
        return "\n".join(stamps)
    try:
        status = place.stat()
    except OSError:
        return f"{place} absent"
    return f"{place} {status.st_size} {status.st_mtime_ns}"
