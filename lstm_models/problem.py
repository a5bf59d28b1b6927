"""The fault that an engine expects and can explain."""

from __future__ import annotations


class Problem(Exception):
    """Why a case cannot be opened or run: one paragraph that says what, where and how to repair.

    ``stage`` is ``open``, ``oracle``, ``proof``, ``memory`` or ``run``.
    """

    def __init__(self, stage: str, message: str) -> None:
        super().__init__(message)
        self.stage = stage
        self.message = message
