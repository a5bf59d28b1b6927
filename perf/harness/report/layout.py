"""What all tables share: short names of cases, and how a table looks."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tabulate import tabulate

from perf.harness.records import CaseSpec

#: Columns of a terminal that everything fits into.
WIDTH = 120


def names(specs: Sequence[CaseSpec], *, without_kernel: Collection[str] = ()) -> dict[str, str]:
    """Case keys without what all of them share: ``forward translation-b32 loop``.

    ``without_kernel`` are the keys whose kernel a column beside shows.
    """
    devices = len({spec.device for spec in specs}) > 1
    precisions = len({spec.precision for spec in specs}) > 1
    return {
        spec.key: " ".join(
            (
                spec.path,
                f"{spec.workload}-b{spec.batch}",
                *((spec.device,) if devices else ()),
                *(() if spec.key in without_kernel else (spec.kernel,)),
                *((spec.precision,) if precisions else ()),
            )
        )
        for spec in specs
    }


def fitting(rows: Sequence[Sequence[object]], headers: Sequence[str], *, may_go: Sequence[str]) -> str:
    """A table of at most :data:`WIDTH` columns, if need be without those in ``may_go``, the first of them first."""
    text = table(rows, headers)
    for gone in may_go:
        if max(map(len, text.splitlines())) <= WIDTH:
            break
        kept = [index for index, header in enumerate(headers) if header != gone]
        rows, headers = [[row[index] for index in kept] for row in rows], [headers[index] for index in kept]
        text = table(rows, headers)
    return text


def table(rows: Sequence[Sequence[object]], headers: Sequence[str]) -> str:
    return tabulate(rows, headers=headers, disable_numparse=True, tablefmt="simple")
