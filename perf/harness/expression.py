"""``-k`` for stored cases, where pytest is not there to read it."""

from __future__ import annotations

import re
from collections.abc import Callable

from perf.harness.errors import Refusal


def selector(expression: str) -> Callable[[str], bool]:
    """What pytest's ``-k`` means, on case keys: substrings with ``and``, ``or``, ``not`` and parentheses.

    Substrings may hold what ids are made of (letters, digits, ``_ - . [ ] :``); case does not matter. An empty
    expression selects all. Raises :class:`Refusal` for anything else.
    """
    tokens: list[str] = re.findall(r"[()]|[^\s()]+", expression)
    if not tokens:
        return lambda key: True
    position = 0

    def peek() -> str:
        return tokens[position] if position < len(tokens) else ""

    def take() -> str:
        nonlocal position
        position += 1
        return tokens[position - 1]

    def either() -> Callable[[str], bool]:
        terms = [both()]
        while peek() == "or":
            take()
            terms.append(both())
        return lambda key: any(term(key) for term in terms)

    def both() -> Callable[[str], bool]:
        terms = [one()]
        while peek() == "and":
            take()
            terms.append(one())
        return lambda key: all(term(key) for term in terms)

    def one() -> Callable[[str], bool]:
        if peek() in ("", ")", "and", "or"):
            raise Refusal(f"-k {expression!r} is no expression: expected a part of a case's name, not or '('.")
        token = take()
        if token == "not":
            negated = one()
            return lambda key: not negated(key)
        if token == "(":
            inner = either()
            if peek() != ")":
                raise Refusal(f"-k {expression!r} is no expression: a ')' is missing.")
            take()
            return inner
        part = token.lower()
        return lambda key: part in key.lower()

    whole = either()
    if peek():
        raise Refusal(f"-k {expression!r} is no expression: expected 'and' or 'or' before {peek()!r}.")
    return whole
