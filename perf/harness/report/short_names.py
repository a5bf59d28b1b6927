"""Short names for results: the kernel that ran stands beside them."""

from __future__ import annotations

from collections.abc import Sequence

from perf.harness.records import CaseResult
from perf.harness.report.layout import names


def short_names(results: Sequence[CaseResult], *, ran_beside: bool = False) -> dict[str, str]:
    """Case keys without what all of them share: ``forward translation-b32 loop``.

    ``ran_beside``: the kernel that ran stands in the next column, so it is named only where another was asked for.
    """
    as_asked = {result.spec.key for result in results if kernels_that_ran(result) == [result.spec.kernel]}
    return names([result.spec for result in results], without_kernel=as_asked if ran_beside else ())


def kernels_that_ran(result: CaseResult) -> list[str]:
    """Of all processes, each once."""
    return list(dict.fromkeys(sample.facts.kernel for sample in result.samples))
