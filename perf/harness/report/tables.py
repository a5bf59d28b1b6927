"""What all tables of the terminal share: short names of cases, and the form of a table."""

from __future__ import annotations

from collections.abc import Sequence

from tabulate import tabulate

from perf.harness.records import CaseResult


def short_names(results: Sequence[CaseResult], *, ran_beside: bool = False) -> dict[str, str]:
    """Case keys without what all of them share: ``forward translation-b32 loop``.

    ``ran_beside``: the kernel that ran stands in the next column, so it is named only where another was asked for.
    """
    specs = [result.spec for result in results]
    devices = len({spec.device for spec in specs}) > 1
    precisions = len({spec.precision for spec in specs}) > 1
    return {
        spec.key: " ".join(
            (
                spec.path,
                f"{spec.workload}-b{spec.batch}",
                *((spec.device,) if devices else ()),
                *(() if ran_beside and kernels_that_ran(result) == [spec.kernel] else (spec.kernel,)),
                *((spec.precision,) if precisions else ()),
            )
        )
        for result in results
        for spec in (result.spec,)
    }


def kernels_that_ran(result: CaseResult) -> list[str]:
    return list(dict.fromkeys(sample.facts.kernel for sample in result.samples))


def table(rows: Sequence[Sequence[object]], headers: Sequence[str]) -> str:
    return tabulate(rows, headers=headers, disable_numparse=True, tablefmt="simple")
