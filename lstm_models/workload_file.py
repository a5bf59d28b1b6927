"""Read a workload file: TOML tables in, checked plain fields out; whatever is wrong is refused by name."""

from __future__ import annotations

import hashlib
import pathlib
import re
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Union

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_KINDS = ("stack", "encoder-decoder", "builder", "saved")
_ALL = frozenset(_KINDS)
_OWN = frozenset(("stack", "encoder-decoder"))  # models that this package makes itself
_STACK = frozenset(("stack",))


class WorkloadError(ValueError):
    """A workload that cannot be: one paragraph that names file, table, key and what is allowed."""


@dataclass(frozen=True)
class Rule:
    """What one key may hold, and in which kinds of workload it means something.

    ``least`` and ``below`` bound a number; ``choices`` are all values of a text.
    """

    type: type
    kinds: frozenset[str]
    least: float = 0
    below: Optional[float] = None
    choices: tuple[str, ...] = ()

    @property
    def allowed(self) -> str:
        """The allowed values in words."""
        if self.choices:
            return "one of " + ", ".join(f'"{choice}"' for choice in self.choices)
        if self.type is bool:
            return "true or false"
        if self.type is str:
            return "a text that is not empty"
        if self.type is tuple:
            return "a list of different positive whole numbers, e.g. [1, 32]"
        if self.type is float:
            return f"a number from {self.least} to below {self.below}"
        return f"a whole number, {self.least} or more"

    def read(self, value: Any) -> Any:
        """The value as the record holds it; raises ``ValueError`` if it is not allowed."""
        if self.type is tuple:
            sizes = tuple(value) if isinstance(value, list) else ()
            if sizes and all(type(size) is int and size > 0 for size in sizes) and len(set(sizes)) == len(sizes):
                return sizes
        elif self.type is float:
            if type(value) in (int, float) and self.below is not None and self.least <= value < self.below:
                return float(value)
        elif type(value) is self.type and self._holds(value):  # not isinstance: true is an int
            return value
        raise ValueError(value)

    def _holds(self, value: Any) -> bool:
        """Whether a value of the right type, but no list and no fraction, is allowed."""
        if self.choices:
            return value in self.choices
        if self.type is str:
            return bool(value.strip())
        return self.type is bool or bool(value >= self.least)


RULES: Mapping[str, Rule] = {
    "source": Rule(str, _ALL),
    "kind": Rule(str, _ALL, choices=_KINDS),
    "layers": Rule(int, _STACK, least=1),
    "units": Rule(int, _OWN, least=1),
    "timesteps": Rule(int, _ALL, least=1),
    "features": Rule(int, _STACK, least=1),
    "vocabulary": Rule(int, _ALL, least=3),
    "embedding": Rule(int, _OWN, least=1),
    "bidirectional": Rule(bool, _STACK),
    "return_sequences": Rule(bool, _STACK),
    "head": Rule(str, _ALL, choices=("none", "softmax", "sigmoid", "linear")),
    "outputs": Rule(int, _OWN, least=1),
    "mask": Rule(str, _STACK, choices=("none", "right", "left")),
    "dropout": Rule(float, _OWN, below=1),
    "recurrent_dropout": Rule(float, _OWN, below=1),
    "activation": Rule(str, _OWN, choices=("tanh", "relu")),
    "use_bias": Rule(bool, _OWN),
    "stateful": Rule(bool, _STACK),
    "decode_tokens": Rule(int, frozenset(("encoder-decoder",)), least=1),
    "batch_sizes": Rule(tuple, _ALL),
    "builder": Rule(str, frozenset(("builder",))),
    "saved": Rule(str, frozenset(("saved",))),
}

_REQUIRED = {
    "stack": ("units", "timesteps"),
    "encoder-decoder": ("units", "timesteps", "vocabulary", "embedding", "decode_tokens"),
    "builder": ("builder",),
    "saved": ("saved",),
}


def read(file: Union[str, pathlib.Path]) -> dict[str, dict[str, Any]]:
    """The fields of every workload in ``file`` by name, as arguments of ``Workload``.

    Only keys that were written are there, besides ``kind`` and ``source``, which are derived where they are missing,
    and ``outputs`` of an encoder-decoder. Raises :class:`WorkloadError`.
    """
    import tomllib  # workers of Python 3.9 have none: they get the whole record through the channel

    path = pathlib.Path(file)
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WorkloadError(f"{path}: the workload file cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WorkloadError(f"{path}: not valid TOML: {error}. Write [workload.NAME] tables.") from None
    others = [key for key in content if key != "workload"]
    tables = content.get("workload")
    if others or not isinstance(tables, dict) or not tables:
        found = f"found {', '.join(others)}" if others else "found none"
        raise WorkloadError(f"{path}: a workload file holds [workload.NAME] tables and nothing else; {found}.")
    return {name: _table(path, name, table) for name, table in tables.items()}


def _table(path: pathlib.Path, name: str, table: Any) -> dict[str, Any]:
    """One table, checked key by key and then as a whole."""
    where = f"{path}: [workload.{name}]"
    if not _NAME.fullmatch(name):
        raise WorkloadError(f"{where}: a name is made of lower case letters a-z, digits, - and _, e.g. my-model.")
    if not isinstance(table, dict):
        raise WorkloadError(f"{where}: write a table of keys, e.g. units = 64.")
    found: dict[str, Any] = {}
    for key, value in table.items():
        rule = RULES.get(key)
        if rule is None:
            raise WorkloadError(f"{where}: no key {key!r}; the keys are: {', '.join(RULES)}.")
        try:
            found[key] = rule.read(value)
        except ValueError:
            raise WorkloadError(f"{where}: {key} = {value!r} is not allowed; {key} is {rule.allowed}.") from None
    found.setdefault("kind", "builder" if "builder" in found else "saved" if "saved" in found else "stack")
    found.setdefault("source", path.name)
    problem = _conflict(found)
    if problem:
        raise WorkloadError(f"{where}: {problem}")
    if found["kind"] == "encoder-decoder":
        found.update(head="softmax", outputs=found["vocabulary"], return_sequences=True)
    if found["kind"] == "saved":
        found["saved"] = str((path.parent / found["saved"]).resolve())
        found["digest"] = _digest(where, found["saved"])
    return found


def _digest(where: str, saved: str) -> str:
    """Of a saved model's content, which belongs to what is measured; where the file lies does not."""
    try:
        return hashlib.sha256(pathlib.Path(saved).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise WorkloadError(f"{where}: the saved model {saved} cannot be read: {error.strerror}.") from None


def _conflict(found: Mapping[str, Any]) -> str:
    """What does not fit together among keys that are each allowed, as a sentence; empty if all fits."""
    kind = found["kind"]
    for key in _REQUIRED[kind]:
        if key not in found:
            return f'the key {key} is missing; a workload of kind "{kind}" needs {", ".join(_REQUIRED[kind])}.'
    for key in found:
        if kind not in RULES[key].kinds:
            allowed = ", ".join(f'"{name}"' for name in _KINDS if name in RULES[key].kinds)
            return f'{key} has no meaning for kind "{kind}", only for {allowed}. Remove {key} or change kind.'
    if kind == "builder" and not re.fullmatch(r"[\w.]+:\w+", found["builder"]):
        return f'builder = {found["builder"]!r} is not allowed; builder is "package.module:function".'
    if kind == "encoder-decoder":
        head, outputs = found.get("head", "softmax"), found.get("outputs", found["vocabulary"])
        if (head, outputs) != ("softmax", found["vocabulary"]):
            return 'an encoder-decoder ends in head = "softmax" over its vocabulary; leave head and outputs away.'
    if kind != "stack":
        return ""
    if ("vocabulary" in found) == ("features" in found):
        return "give either vocabulary (tokens, with embedding) or features (numbers), and not both."
    if ("vocabulary" in found) != ("embedding" in found):
        return "vocabulary and embedding go together: give both or neither."
    if (found.get("head", "none") != "none") != ("outputs" in found):
        return 'outputs is the width of the head: give it with every head but "none", and only then.'
    if found.get("stateful") and found.get("bidirectional"):
        return "stateful and bidirectional do not go together: a backward state has no next batch to go to."
    return ""
