"""Puts a report where it was asked for: index.html, summary.md and report.json, each whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from perf.harness.errors import Refusal
from perf.harness.report.page.data import PageData
from perf.harness.storing import write_text_whole

_SUMMARY = "GITHUB_STEP_SUMMARY"


def refuse_unfit(folder: Path) -> None:
    """Raises :class:`Refusal` where a report could not be written: said before anything is measured."""
    from importlib.util import find_spec

    if missing := [name for name in ("jinja2", "plotly") if find_spec(name) is None]:
        raise Refusal(f"A report needs {' and '.join(missing)}, not installed here: pip install {' '.join(missing)}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Refusal(f"--perf-report {folder}: the folder cannot be made ({error.strerror or error}).") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Refusal(f"--perf-report {folder}: nothing can be written into this folder.")


def write(folder: Path, page: PageData, environ: Mapping[str, str] = os.environ) -> Path:
    """Writes the three files and appends the summary to ``$GITHUB_STEP_SUMMARY`` where that is set.

    Returns the page's path. Raises ``OSError`` where a file cannot be written; what stood there stays then.
    """
    from perf.harness.report.page.embedded import trend
    from perf.harness.report.page.markdown import summary
    from perf.harness.report.page.plain import as_plain
    from perf.harness.report.page.render import render

    history = trend(page)  # for hundreds of runs most of the work, so once for both files
    index, short = folder / "index.html", summary(page)
    # In one line: indented it is written by Python, not by C, and takes longer than all the rest.
    data = json.dumps(as_plain(page, history), allow_nan=False, ensure_ascii=False)
    write_text_whole(folder / "report.json", f"{data}\n")
    write_text_whole(folder / "summary.md", short)
    write_text_whole(index, render(page, history))
    if target := environ.get(_SUMMARY):
        with open(target, "a", encoding="utf-8") as file:
            file.write(f"{short}\n")
    return index
