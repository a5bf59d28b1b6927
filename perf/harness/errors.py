"""The one error a person can repair."""

from __future__ import annotations


class Refusal(Exception):
    """Refused before anything is measured: one clear paragraph that says what, where and how to repair.

    The plugin turns it into pytest's usage error (exit status 4, no traceback); ``python -m perf`` prints it.
    """
