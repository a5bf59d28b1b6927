"""The table of kernels that Keras would pick on a GPU host, as records; like :mod:`perf.harness.records` they know
nobody.

How the table is found stands in the worker (``lstm_models.selection``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

MODES = ("inference", "training")
#: Kernels that are none: this Keras lacks the option, so the row says nothing; or Keras raised.
NOT_COMPARABLE, FAILS = "not comparable", "fails"
_COUNT = re.compile(r"^[0-9]+x ")


def key_of(setting: str) -> str:
    """How a setting is called beside the cases, ``kernel[dropout]``: as its test is, ``test_kernel[dropout]``."""
    return f"kernel[{setting}]"


@dataclass(frozen=True, slots=True)
class SelectionRow:
    """One layer configuration in one place and mode, as the worker found it; all of it text.

    ``row`` is a stable id, ``dropout/bidirectional``: its group (the setting), a slash, the place. ``kernel``:
    ``cudnn``, ``loop``, ``unrolled``, with ``2x`` where two LSTMs have it, ``mixed: ...``, :data:`FAILS` or
    :data:`NOT_COMPARABLE`. ``jit``: what ``jit_compile="auto"`` resolves to, ``True`` or ``False``; empty where no
    model could be had. ``note`` says what else there is to know. ``setting`` and ``place`` are the id in words:
    ``dropout=0.2``, ``in Bidirectional``.
    """

    row: str
    mode: str
    kernel: str
    jit: str
    note: str
    setting: str
    place: str

    @property
    def group(self) -> str:
        """The setting's id."""
        return self.row.split("/")[0]

    @property
    def plain_kernel(self) -> str:
        """The kernel without the number of LSTMs that have it, which is the place's and not Keras's."""
        return _COUNT.sub("", self.kernel)


@dataclass(frozen=True, slots=True)
class Selection:
    """The table of one environment, whole or of some settings; ``versions`` by name, as the worker describes them."""

    rows: tuple[SelectionRow, ...]
    versions: Mapping[str, str]

    @property
    def by_key(self) -> dict[tuple[str, str], SelectionRow]:
        """By id and mode, in the order of the table."""
        return {(row.row, row.mode): row for row in self.rows}

    @property
    def groups(self) -> tuple[str, ...]:
        """Ids of the settings, in the order of the table."""
        return tuple(dict.fromkeys(row.group for row in self.rows))

    def only(self, groups: Iterable[str]) -> Selection:
        """The part of the table that is about ``groups``."""
        kept = frozenset(groups)
        return Selection(tuple(row for row in self.rows if row.group in kept), self.versions)


@dataclass(frozen=True, slots=True)
class PromotedSetting:
    """What Keras picked for one setting in all its places, accepted as what later runs are compared with."""

    selection: Selection  # of this setting only
    suite: str  # that it was promoted from: a whole run of it has to look at the setting again
    promoted: datetime
    reason: str
