"""What ``--perf-against`` and ``--perf-candidate`` take: the words that describe one side of a comparison.

Only the form is judged here; whether an interpreter works or versions go together shows in
:mod:`perf.harness.builds`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from perf.harness.errors import Refusal

FORMS = (
    "A SPEC is made of: a path to an interpreter (/opt/tf220/bin/python); a pip requirement (tensorflow==2.20.0, or "
    "'keras @ file:///wheels/keras-3.11.3-py3-none-any.whl'); '-r FILE', a file of requirements; python==3.12; a "
    "variable (TF_ENABLE_ONEDNN_OPTS=0)"
)
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(?!=)(.*)", re.DOTALL)
_FILE_OPTION = re.compile(r"(?:-r|--requirement)(?:[\s=]+|(?<=-r))(?P<file>\S.*)", re.DOTALL)
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?")
_PYTHON_COMMAND = re.compile(r"(python|pypy)(\d+(\.\d+)?)?")
#: What the harness sets itself for each worker, after all that a SPEC says.
_HARNESS_OWN = {
    "CUDA_VISIBLE_DEVICES": "which GPU is measured is chosen with --perf-device and --perf-gpu",
    "CUDA_DEVICE_ORDER": "which GPU is measured is chosen with --perf-device and --perf-gpu",
}


@dataclass(frozen=True, slots=True)
class Spec:
    """One side as it was asked for; empty: the environment in which pytest runs.

    ``requirements`` are in pip's form, without ``python``. ``python`` is a version such as ``3.12``. ``variables``
    are set on this side; ``None`` unsets one. ``complete`` says that the requirements name every package, so that
    they are installed as they are and nothing is solved or held: a recorded environment that is rebuilt.
    """

    interpreter: str | None = None
    requirements: tuple[str, ...] = ()
    requirement_files: tuple[Path, ...] = ()
    python: str | None = None
    variables: Mapping[str, str | None] = field(default_factory=dict)
    complete: bool = False

    @property
    def needs_build(self) -> bool:
        """Whether packages must be installed for it; else it runs with an interpreter that is there."""
        return bool(self.requirements or self.requirement_files or self.python)

    @property
    def words(self) -> str:
        """As the user would write it, for messages; of a complete one its size, since nobody writes or reads those."""
        if self.complete:
            return f"as recorded: Python {self.python} and {len(self.requirements)} packages"
        words = [
            *([self.interpreter] if self.interpreter else []),
            *self.requirements,
            *(f"-r {file}" for file in self.requirement_files),
            *([f"python=={self.python}"] if self.python else []),
            *(f"{name}={value}" for name, value in self.variables.items() if value is not None),
        ]
        return " ".join(words) or "the environment in which pytest runs"


def parse(tokens: Sequence[str], option: str = "--perf-against") -> Spec:
    """The side that all ``tokens`` describe together.

    A token is what one use of ``option`` was given; it may hold several words, as in ``tensorflow==2.17.1
    keras==3.3.3``. Relative paths are taken from the current folder. Raises :class:`Refusal` naming the token.
    """
    words = _Words(option)
    rest = iter(tokens)
    for token in rest:
        words.read(token.strip(), rest)
    return words.spec()


class _Words:
    """What was understood so far; refuses what contradicts it."""

    def __init__(self, option: str) -> None:
        self._option = option
        self._interpreter: str | None = None
        self._python: str | None = None
        self._requirements: list[str] = []
        self._files: list[Path] = []
        self._variables: dict[str, str | None] = {}

    def spec(self) -> Spec:
        if self._interpreter and self._python:
            raise Refusal(
                f"{self._option}: {self._interpreter} is an interpreter and python=={self._python} asks for one. Name "
                "one of the two."
            )
        return Spec(
            self._interpreter, tuple(self._requirements), tuple(self._files), self._python, dict(self._variables)
        )

    def read(self, token: str, rest: Iterator[str]) -> None:
        if token in ("-r", "--requirement"):
            token = f"-r {next(rest, '').strip()}".strip()
        if not token:
            raise self._refusal(token, "it is empty")
        if found := _FILE_OPTION.fullmatch(token):
            self._files.append(self._requirement_file(found["file"]))
        elif token.startswith("-"):
            raise self._refusal(token, "of pip's options only '-r FILE' is taken")
        elif found := _VARIABLE.fullmatch(token):
            self._variable(token, *found.groups())
        elif (requirement := _requirement(token)) is not None:
            self._required(token, requirement)
        elif not any(part.isspace() for part in token) or (os.sep in token and Path(token).expanduser().exists()):
            self._path(token)
        else:
            self._several(token)

    def _several(self, token: str) -> None:
        try:
            words = shlex.split(token)
        except ValueError as error:
            raise self._refusal(token, f"its quotes do not match ({error})") from None
        if len(words) < 2:
            raise self._refusal(token, "it is none of these")
        rest = iter(words)
        for word in rest:
            self.read(word, rest)

    def _requirement_file(self, name: str) -> Path:
        file = Path(name).expanduser().absolute()
        if not file.is_file():
            raise Refusal(f"{self._option} -r {name}: there is no file {file}. Name a file of requirements.")
        return file

    def _variable(self, token: str, name: str, value: str) -> None:
        if not any(letter.isupper() for letter in name) and _VERSION.fullmatch(value):
            raise self._refusal(token, f"a version is asked for with two signs: {name}=={value}")
        if name in _HARNESS_OWN:
            raise self._refusal(token, f"the harness sets this variable itself: {_HARNESS_OWN[name]}")
        later = [word for word in value.split()[1:] if re.match(r"[A-Za-z_][\w.\[\],-]*[=<>~!]", word)]
        if later:
            raise self._refusal(
                token, f"is {later[0]!r} a part of the value of {name}? Give each its own {self._option}"
            )
        if self._variables.setdefault(name, value) != value:
            raise self._refusal(token, f"{name} was already given the value {self._variables[name]!r}")

    def _required(self, token: str, requirement: Requirement) -> None:
        if requirement.name.lower() == "python":
            pins = [pin for pin in requirement.specifier if pin.operator == "==" and _VERSION.fullmatch(pin.version)]
            if token != "python" and (len(pins) != 1 or len(requirement.specifier) != 1 or requirement.extras):
                raise self._refusal(token, "Python is asked for as python==X.Y or python==X.Y.Z")
            if pins:
                if self._python not in (None, pins[0].version):
                    raise self._refusal(token, f"python=={self._python} was asked for already")
                self._python = pins[0].version
                return
        if _PYTHON_COMMAND.fullmatch(token):  # a valid name of a package too, but nobody means that
            self._path(token)
            return
        self._requirements.append(token)

    def _path(self, token: str) -> None:
        path = Path(token).expanduser()
        wheel = _wheel_name(path.name)
        if wheel and ("://" in token or path.is_file()):
            url = token if "://" in token else path.absolute().as_uri()
            self._requirements.append(f"{wheel} @ {url}")
            return
        if (path / "bin" / "python").exists():
            path = path / "bin" / "python"  # a virtual environment was named
        elif path.is_dir():
            raise self._refusal(
                token, "a folder without bin/python; a source tree is named as 'keras @ file:///folder'"
            )
        # Not resolved: a virtual environment's interpreter is a link, and what it links to has other packages.
        found = shutil.which(str(path.absolute()) if os.sep in token else token)
        if found is None:
            if os.sep in token:
                reason = "no executable file is there" if path.exists() else "no such file"
            elif _PYTHON_COMMAND.fullmatch(token):
                reason = "no such interpreter is on PATH"
            elif re.match(r"[A-Za-z][\w.-]*(\[|[=<>~!]=|[<>])", token):
                reason = "not a valid requirement: is the version one, as in tensorflow==2.20.0?"
            else:
                reason = "it is neither path, requirement nor variable"
            raise self._refusal(token, reason)
        if self._interpreter not in (None, found):
            raise self._refusal(token, f"{self._interpreter} was already named as this side's interpreter")
        self._interpreter = found

    def _refusal(self, token: str, reason: str) -> Refusal:
        return Refusal(f"{self._option} {token!r}: {reason}. {FORMS}. Nothing was measured.")


def _requirement(token: str) -> Requirement | None:
    try:
        return Requirement(token)
    except InvalidRequirement:
        return None


def _wheel_name(file: str) -> str:
    """The package that a wheel's file name names; "" where it is none."""
    try:
        return str(parse_wheel_filename(file)[0])
    except InvalidWheelFilename:
        return ""
