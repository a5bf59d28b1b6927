"""Commands as documents write them, held against the parsers that would take them."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import perf.__main__ as stored_runs
from lstm_models import __main__ as one_workload
from perf.harness.errors import Refusal
from perf.harness.options import Options
from perf.harness.spec import parse

ROOT = Path(__file__).parent.parent
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`]+)`")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*")
#: In a block what explains a command stands at least two blanks behind it.
_EXPLANATION = re.compile(r"\s{2,}.*$")


def parsers() -> pytest.Config:
    """pytest with all of this checkout's options, whatever plugins the test session itself goes without."""
    return pytest.Config.fromdictargs({}, [str(ROOT / "perf")])


def commands(markdown: str) -> Iterator[list[str]]:
    """The words of each command of this project in a document, blocks of code and inline code alike."""
    texts = []
    for language, block in _FENCED.findall(markdown):
        if language in ("", "sh", "console"):
            texts += re.sub(r"\s*\\\n\s*", " ", block).splitlines()
    texts += [" ".join(code.split()) for code in _INLINE.findall(_FENCED.sub("", markdown))]
    for text in texts:
        for part in _EXPLANATION.sub("", text.removeprefix("$ ")).split(" && "):
            words = _words(part)
            if _is_ours(words):
                yield words


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text, comments=True)
    except ValueError:  # output of a program, prose
        return []
    while words and _ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    return words


def _is_ours(words: Sequence[str]) -> bool:
    if words[:1] == ["pytest"]:
        return "perf" in words[1:]
    if words[:2] == ["python", "-m"]:
        # Without arguments a sentence speaks of the command and nobody is told to type it.
        return words[2:3] in (["perf"], ["lstm_models"]) and (len(words) > 4 or words[3:] == ["list"])
    return words[:2] == ["tox", "-e"] or (words[:1] == [".ci/gate"] and len(words) > 1)


def fault(words: Sequence[str], config: pytest.Config) -> str:
    """Why a command would be refused, or that it has an option nobody knows; "" for a good one."""
    try:
        if words[0] == ".ci/gate":
            return _fault_of_tox(words[1], words[2:], config)
        if words[0] == "tox":
            options, _, rest = "\0".join(words[3:]).partition("--\0")
            unknown = set(options.split("\0")) - {"", "-r", "--notest", "--skip-pkg-install"}
            return f"tox: {unknown}" if unknown else _fault_of_tox(words[2], [w for w in rest.split("\0") if w], config)
        if words[0] == "pytest":
            return _fault_of_pytest(words[1:], config)
        return _fault_of_module(words[2], words[3:])
    except (Refusal, pytest.UsageError) as error:
        return str(error)


def _fault_of_tox(environment: str, given: Sequence[str], config: pytest.Config) -> str:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    section = f"testenv:{environment}"
    if section not in tox:
        return f"tox.ini has no environment {environment!r}"
    command, _, _ = tox[section]["commands"].partition("{posargs")
    words = shlex.split(command)
    return _fault_of_pytest([*words[1:], *given], config) if words[:1] == ["pytest"] else ""


def _fault_of_pytest(words: Sequence[str], config: pytest.Config) -> str:
    options, unknown = config._parser.parse_known_and_unknown_args(list(words))
    if unknown:
        return f"nobody knows {unknown}"
    asked = Options.from_pytest_config(_Config(options, config.invocation_params))  # type: ignore[arg-type]
    for specs in (asked.against, asked.candidate):
        parse(specs)
    return ""


class _Config:
    """As much of a ``pytest.Config`` as options are read from."""

    def __init__(self, options: Any, invocation_params: Any) -> None:
        self._options, self.invocation_params = options, invocation_params

    def getoption(self, name: str) -> Any:
        return getattr(self._options, name)


def _fault_of_module(module: str, words: Sequence[str]) -> str:
    try:
        if module == "lstm_models":
            one_workload._parser().parse_args(list(words))
        else:
            with pytest.MonkeyPatch.context() as patch:
                for name in ("_promote", "_retire", "_report"):
                    patch.setattr(stored_runs, name, lambda *_: "", raising=False)
                stored_runs.main(list(words))
    except SystemExit as error:
        return f"python -m {module} ends with {error.code}"
    return ""
