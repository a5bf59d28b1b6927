"""Keeps pytest-benchmark's files whole: where they go, what they hold, and how they are written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_benchmark.storage.file import FileStorage

from perf.harness import runs
from perf.harness.runs import BLOCK
from perf.harness.session import Session
from perf.harness.storing import plain, write_whole


class WholeFileStorage(FileStorage):
    """pytest-benchmark's storage that writes a file whole or not at all, under the machine's own folder.

    The stock one opens the final name and writes in place, so a full disk or a kill leaves a truncated baseline.
    """

    saved: Path | None = None

    def __init__(self, stock: FileStorage, machine_id: str, failed: Callable[[str], None]) -> None:
        super().__init__(stock.path, stock.logger, machine_id)  # type: ignore[no-untyped-call]
        self._failed = failed

    def save(self, output_json: dict[str, Any], save: str) -> None:
        """Writes the next ``NNNN_<save>.json``; where that fails, says so and lets the session end as it would."""
        path = runs.next_path(self.path / self.default_machine_id, save)
        try:
            write_whole(path, output_json)
        except OSError as error:
            self._failed(f"The run could not be saved as {path}: {error.strerror or error}.")
        else:
            self.saved = path


def keep_quiet_about_nothing(benchmarks: Any) -> None:
    """Asks for no file where no test came to its benchmark (Ctrl-C, all skipped, ``-x``).

    pytest-benchmark would warn that there is nothing to save, which is a traceback where warnings are errors; what
    happened is said already.
    """
    if not benchmarks.benchmarks:
        benchmarks.save = benchmarks.autosave = benchmarks.json = None


def update_json(output_json: dict[str, Any], session: Session) -> None:
    """Adds this suite's block to pytest-benchmark's JSON and makes all of it plain, finite JSON values."""
    assert session.blocks is not None
    ours = [bench["extra_info"][BLOCK] for bench in output_json["benchmarks"] if BLOCK in bench["extra_info"]]
    kept = {case["spec"]["key"] for case in ours}
    top = dict(session.blocks.top)
    # With -x the later tests never ran: their cases are not in the file, so it does not claim to be complete.
    top["complete"] = top["complete"] and set(session.blocks.cases) <= kept
    output_json.update(plain({**output_json, BLOCK: top}))
